package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// measure is what would have prevented the harm. applies is its condition.
type measure struct {
	applies func(clues) bool
	advice  advice
}

// advice is the text of a remedy. tries names the remedy of package remedy that tries it; "" = none does.
type advice struct {
	text  func(clues) string
	tries string
}

func always(clues) bool { return true }

func say(text string) advice { return advice{text: func(clues) string { return text }} }

func (a advice) by(tries string) advice { return advice{a.text, tries} }

const (
	oneCommand = "`SET key token NX PX ttl`"
	fencingToo = "a fencing token: a number that grows with every grant, and that the guarded resource compares so as to refuse an older one"
)

// fence applies if the lock grants no fencing tokens. It helps whenever a client works beyond its
// lease.
var fence = measure{func(c clues) bool { return !c.fenced }, say(fencingToo).by(remedy.Fence)}

// atomicTake applies if taking the lock needed several commands, unless two primaries granted it.
var atomicTake = measure{func(c clues) bool { return len(c.took) > 1 && !c.twoPrimaries }, advice{func(c clues) string {
	return fmt.Sprintf("taking the lock in one atomic step: here that took %s, and others came in between. %s does it at once, or one Lua script that looks and takes", wording.List(c.took), oneCommand)
}, remedy.AtomicTake}}

// ownToken applies if a key's value does not identify its owner.
var ownToken = measure{func(c clues) bool { return c.tokens == noToken || c.tokens == oneForAll || c.tokens == aTime },
	say("a token: a different value in the key for every attempt, so that a client can distinguish its own key from another client's").by(remedy.UniqueToken)}

// tokenPerAttempt applies if a key's value identifies a client but not its attempt.
var tokenPerAttempt = measure{func(c clues) bool { return c.tokens == oneEach },
	say("a token per attempt instead of one per client: then a command of an earlier lease does not match the new lease").by(remedy.UniqueToken)}

// named reports whether a key's value distinguishes its owner from all other clients. Only a
// command that does not compare the value can then take another client's key for its own.
func (c clues) named() bool { return c.tokens == oneEach || c.tokens == perAttempt }

// ownExtension applies if an extension succeeded after another client had been granted the lock.
var ownExtension = measure{func(c clues) bool { return c.extended },
	say("an owner check on extension: one Lua script that compares the key's value with the holder's token, prolongs the lease only then, and answers otherwise that the lock is lost").by(remedy.OwnRenewal)}

// remedies lists the remedies for each cause, the most effective first.
var remedies = map[checker.Cause][]measure{
	checker.Race: {
		{func(c clues) bool { return c.twoPrimaries && !c.fenced }, say(fencingToo).by(remedy.Fence)},
		{func(c clues) bool { return c.twoPrimaries }, say("`min-replicas-to-write` makes it rarer: a primary that has lost its replicas then soon refuses to grant anything")},
		{func(c clues) bool { return c.twoPrimaries }, say("a quorum of independent nodes, where no two clients can have a majority at the same time, instead of a primary that may become two").by(remedy.OnePrimary)},
		{func(c clues) bool { return c.readers && !c.twoPrimaries }, say("a record for every reader, a field of a hash or a member of a set, so that a reader that comes or leaves does not hide the others")},
		{func(c clues) bool { return c.reasons[account.ByOtherNodes] }, say("more than half of the nodes for every grant: two such majorities have a node in common, and the grants here had none")},
		{func(c clues) bool { return c.counted }, say("idempotent commands: a client repeated a command whose reply was lost (go-redis: MaxRetries), and the lock counted it twice. Let the script remember the request, or do not repeat it")},
		{func(c clues) bool { return atomicTake.applies(c) && !c.reasons[account.OwnRemoval] }, atomicTake.advice},
		{func(c clues) bool {
			return len(c.took) <= 1 && !c.readers && !c.twoPrimaries && !c.counted && !c.reasons[account.ByOtherNodes] && !c.reasons[account.OwnRemoval]
		}, say("one atomic step, a command with NX or one Lua script, that checks all conditions and then takes the lock").by(remedy.AtomicTake)},
		{func(c clues) bool { return c.reasons[account.OwnRemoval] && c.reentrant }, say("a count of the holder's entries beside its token: each release takes one away, and only the last one removes the key")},
		{func(c clues) bool { return c.reasons[account.OwnRemoval] && !c.reentrant }, say("leaving the key in place until the release: here one of the holder's own commands removed it")},
	},
	checker.ForeignDelete: {
		{func(c clues) bool { return c.readers }, say("a record for every reader, a field of a hash or a member of a set, so that a release removes only its own")},
		{func(c clues) bool { return c.freed != nil && c.freed.acquiring }, say("not removing a key that looks stale but letting it expire: between the check and the DEL it may become another client's key")},
		{func(c clues) bool { return c.freed != nil && c.freed.readFirst && !c.freed.acquiring }, advice{func(c clues) string {
			return fmt.Sprintf("comparing and deleting in one Lua script: c%d checked the key's owner and removed the key by two commands; between them the key became another client's", c.freed.client)
		}, remedy.AtomicRelease}},
		{func(c clues) bool {
			return !c.readers && (c.freed == nil || !c.freed.readFirst && !c.freed.acquiring && (!c.freed.script || c.named()))
		}, say("an owner check on release: one Lua script that compares the key's value with the releaser's token and only then deletes it").by(remedy.OwnRelease)},
		ownToken,
		tokenPerAttempt,
	},
	checker.ForeignRenewal: {
		{func(c clues) bool { return c.prolonged != nil && c.prolonged.acquiring }, say("setting the key and its TTL by one command, " + oneCommand + ", instead of a separate EXPIRE that may hit another client's key")},
		ownExtension,
		{func(c clues) bool {
			return !c.extended && (c.prolonged == nil || !c.prolonged.acquiring && (!c.prolonged.script || c.named()))
		}, say("an owner check on renewal: one Lua script that compares the key's value with the renewer's token and only then prolongs it").by(remedy.OwnRenewal)},
		{func(c clues) bool { return c.prolonged == nil || !c.prolonged.acquiring }, say("a renewal that ends with the hold: at its release, and when an attempt fails")},
		ownToken,
	},
	checker.RenewalFailed: {
		{func(c clues) bool { return c.reasons[account.RenewalStopped] }, say("a renewal of its own for each lock, which only the release of that lock ends: here the renewals of this lock stopped when another lock was released")},
		{func(c clues) bool { return c.reasons[account.RenewedInstead] }, say("a renewal that ends with its lock's release: here the renewals of released leases went on, and if a fixed number of threads renews, a held lease waits for a free thread")},
		{func(c clues) bool { return c.reasons[account.RenewalMissing] }, say("renewing for as long as the lock is held, and early enough for several attempts within a TTL: here no renewal was sent in time")},
		{func(c clues) bool { return !c.unsent() && !c.severed }, say("trying again after a renewal that got no answer, early enough for several attempts within a TTL")},
		{always, say("telling the holder as soon as its lease can no longer be trusted, so that it stops").by(remedy.StopsAtDeadline)},
		fence,
	},
	checker.LeaseOutlived: {
		ownExtension,
		{func(c clues) bool { return c.overclaimed }, say("a deadline before the key's expiry: the TTL counted from the moment before the command that sets the key was sent, not from its reply, less an allowance for clock drift")},
		fence,
		{func(c clues) bool { return !c.deadlines }, say("a validity check makes it rarer: a holder looks at its clock before every write and stops when its TTL is over").by(remedy.StopsAtDeadline)},
		{func(c clues) bool { return !c.renews && !c.hung && !c.overclaimed }, say("renewing the lease while its holder works makes it rarer").by(remedy.KeepWhileInUse)},
		{func(c clues) bool { return !c.renews && c.hung }, say("a limit to the work, shorter than the lease: a timeout or a deadline around everything that waits. Not renewal, which would keep the lock of a holder that hangs, and everybody else out, for ever")},
	},
	checker.ShortLease: {
		{always, say("giving the key the whole TTL that the caller asked for, in milliseconds (PX, PEXPIRE), or rounded up if seconds are all there is")},
	},
	checker.LongLease: {
		{always, say("giving the key the TTL that the caller asked for and no more, in the unit of the command: PX and PEXPIRE count milliseconds, EX and EXPIRE seconds")},
	},
	checker.ServerLostKey: {
		fence,
		{func(c clues) bool { return c.promoted && c.waited && c.nodes == 1 }, say("waiting for all replicas (WAIT), or promoting only one that acknowledged: here replicas had acknowledged the key, and one without it became the primary")},
		{func(c clues) bool { return (c.promoted || c.splitBrain) && !c.waited && c.nodes == 1 }, say("waiting until replicas have the key (WAIT) before the lock counts as taken makes it rarer")},
		{func(c clues) bool { return c.nodes == 1 && !c.evicted }, say("a quorum of independent nodes instead of one that may fail makes it rarer")},
		{func(c clues) bool { return c.restarted && c.nodes == 1 }, say("persistence: `appendfsync always` keeps what was acknowledged over a restart").by(remedy.Durable)},
		{func(c clues) bool { return c.restarted && c.nodes > 1 }, say("delayed restarts: a node that comes back without its data stays away until every lease that it may have granted is over; or `appendfsync always`")},
		{func(c clues) bool { return c.evicted }, say("`maxmemory-policy noeviction` on a Redis that keeps locks").by(remedy.Durable)},
	},
	checker.ServerClock: {
		{always, say("nodes whose clocks are slewed (slowed down or sped up) and never stepped").by(remedy.Clocks)},
		fence,
		{func(c clues) bool { return c.nodes == 1 }, say("a quorum of independent nodes makes it rarer: the clocks of most of them would have to jump")},
	},
	checker.ClientClock: {
		{func(c clues) bool { return c.ownDeadline() }, say("a deadline by a monotonic clock, which cannot be set, instead of the wall clock: Redis counted the key's TTL, and the holder counted its own time by a wrong clock")},
		{func(c clues) bool { return !c.ownDeadline() }, say("server time instead of the clients' clocks: letting Redis count the TTL (PX, PEXPIRE), or asking it for TIME in the script")},
		fence,
	},
	checker.NoKey: {
		{always, say("a key in Redis that the acquire sets only if it is absent (SET NX PX): what one process keeps in its own memory keeps no other process out")},
	},
	checker.NoExpiry: {
		{func(c clues) bool { return !c.hasTTL }, say("a lease: a TTL on the key, set by the command that takes the lock, " + oneCommand)},
		{func(c clues) bool { return c.hasTTL }, say("setting the key and its TTL by one command, " + oneCommand + ", instead of two between which a client can die or its connection break")},
	},
	checker.LateCommand: {
		tokenPerAttempt,
		{func(c clues) bool { return c.freed != nil && !c.freed.script }, say("an owner check: one Lua script that compares the key's value with the sender's token before it changes anything").by(remedy.OwnRelease)},
		ownToken,
		fence,
	},
	checker.FenceRegressed: {
		{func(c clues) bool { return c.unfenced }, say("a fencing token with every grant: a counter in Redis that the script that takes the lock increments")},
		{func(c clues) bool { return !c.unfenced && (c.promoted || c.restarted || c.splitBrain) }, say("keeping the counter of the fencing tokens where no restart and no failover can set it back: `appendfsync always` and waiting for replicas, or a store with consensus")},
		{func(c clues) bool { return !c.unfenced && !c.promoted && !c.restarted && !c.splitBrain }, say("taking the lock and its fencing token by one Lua script, and never lowering, deleting or expiring the counter")},
		{always, say("a resource that remembers the greatest fencing token it saw, on stable storage")},
	},
	checker.OrphanedKey: {
		{func(c clues) bool { return c.reasons[account.SetInVain] && c.nodes == 1 }, say("a look at the key after each refusal: if it holds the client's own token, an earlier command of the attempt took the lock and its reply was lost. The client then holds the lock, or deletes the key by its token. A Redis client that repeats commands by itself, as go-redis does unless MaxRetries is -1, is refused by its own key")},
		{func(c clues) bool { return !c.crashed && (c.late || c.reasons[account.SetUnknown]) }, say("clients that, after an attempt without an answer, release what that attempt may have taken, by its token, until Redis answers").by(remedy.NoOrphan)},
		{func(c clues) bool { return !c.ungranted() && !c.renews }, say("nothing prevents it altogether: waiting for the TTL is the price of a holder that is gone. A shorter TTL, renewed while the holder works, makes the wait shorter")},
		{func(c clues) bool { return !c.ungranted() && c.renews }, say("nothing prevents it altogether: waiting for the TTL is the price of a holder that is gone. A shorter TTL makes the wait shorter")},
		{clues.ungranted, say("nothing prevents it altogether: a client that cannot reach Redis cannot take its key back before the TTL is over. A shorter TTL makes the wait shorter")},
	},
	checker.HungHolder: {
		{always, say("a limit to the work, a timeout or a deadline around everything that waits, so that the holder comes back and releases")},
		{always, say("a watchdog that stops renewing after the longest time that work may take: others then get in while a hung holder may still come back, so the resource needs a fencing token")},
	},
	checker.FalseAnswer: {
		{func(c clues) bool { return c.reasons[account.GrantUnheard] }, say("reporting an error or a timeout as an unknown outcome: the lock may have been taken. Only a refusal from Redis means that the lock is busy")},
		{func(c clues) bool { return c.reasons[account.GrantUnheard] }, say("releasing an unanswered attempt's lock by the attempt's token, until Redis answers")},
		{func(c clues) bool { return c.reasons[account.HeldRefused] }, say("telling the caller that the lock is busy whenever Redis refuses it: a grant is what Redis confirmed, and nothing else. A script has to answer what its own SET was answered")},
		{func(c clues) bool { return !c.reasons[account.GrantUnheard] && !c.reasons[account.HeldRefused] }, say("answering by the replies to the lock's own commands: a removal that Redis confirmed is a success, and so is a grant that no command took back")},
	},
	checker.Starved: {
		{always, say("a queue in Redis that grants the lock in the order in which clients asked, and from which the dead are removed")},
		{always, say("a random pause between two attempts makes it rarer: a client that asks in the same rhythm as another releases loses every time")},
	},
	checker.LeftFree: {
		{func(c clues) bool { return c.reasons[account.ScriptForgotten] }, say("sending the script itself (EVAL) when EVALSHA is answered with NOSCRIPT: a restart, a failover or SCRIPT FLUSH makes Redis forget scripts at any time")},
		{func(c clues) bool { return c.reasons[account.ToldToWait] }, say("asking again after a lease at the latest, whatever life Redis told: a node counts by its own clock, which may be wrong")},
		{func(c clues) bool { return c.reasons[account.NothingAsked] }, say("asking again from time to time, in addition to listening for a message: Redis keeps no message for a client that is not listening at that moment, so any message may be missed")},
		{func(c clues) bool { return c.reasons[account.AskedInVain] }, say("checking Redis's answer to the last attempt: the lock was free, and an error of Redis or of a connection must not keep a client from asking again")},
	},
	checker.CrossSlot: {{always, say("keeping all data of the lock in one key, or in keys with one hash tag, `{lock}:read` and `{lock}:write`: a Redis Cluster hashes only the text in the braces")}},
	checker.Unmarked:  {{always, say("a record of the finished work, written under the lock, and a check of this record before the work: no lock keeps another client from doing the work again later")}},
	checker.Deadlock:  {{always, say("a timeout, or a context with a deadline, around everything that waits")}},
	checker.Panic:     {{always, say("fixing the bug that the stack shows: an unexpected error or reply, or state that an earlier call left behind")}},
	checker.Runaway:   {{always, say("a limit to the attempts, a pause between them, and a context that ends them")}},
}

// prevented returns the texts of the applicable remedies, the most effective first, and what
// identifies them (Story.Remedies).
func (t *teller) prevented() (texts, ids []string) {
	c := t.clues()
	add := func(n int, text string) {
		texts, ids = append(texts, text), append(ids, fmt.Sprintf("%s.%d", t.Finding.Cause, n))
	}
	if c.unasked {
		add(0, "asking Redis at every entry, also when the client believes that it holds the lock: here the inner entry sent no command, so it did not notice that another client held the lock")
	}
	for i, r := range remedies[t.Finding.Cause] {
		if r.applies(c) {
			add(i+1, r.advice.text(c))
		}
	}
	return texts, ids
}

// tried returns the texts of the remedies that had an effect, those that are enough first, and then of the applicable
// remedies that nobody can try.
func (t *teller) tried() (texts []string) {
	c := t.clues()
	texted, untried := map[string]string{}, []string{}
	together := slices.ContainsFunc(t.Tried, func(x Tried) bool { return len(x.Remedies) > 1 && slices.Contains(x.Remedies, remedy.UniqueToken) })
	for _, m := range remedy.All() {
		texted[m.Name] = m.Measure
	}
	for _, r := range remedies[t.Finding.Cause] {
		switch {
		case !r.applies(c):
		case !c.named() && !together && slices.Contains([]string{remedy.UniqueToken, remedy.OwnRelease, remedy.OwnRenewal}, r.advice.tries):
			// A check helps only with a token, and both were not tried together.
			untried = append(untried, r.advice.text(c)+" (not tried)")
		case r.advice.tries == "":
			untried = append(untried, r.advice.text(c)+" (not tried)")
		default:
			texted[r.advice.tries] = r.advice.text(c)
		}
	}
	for _, x := range t.Tried {
		var measures []string
		for _, name := range x.Remedies {
			measures = append(measures, texted[name])
		}
		texts = append(texts, strings.Join(measures, "; together with ")+" ("+x.words()+")")
	}
	return append(texts, untried...)
}

// Tried is the effect of a remedy, or of two together, in a repetition of the trial.
type Tried struct {
	Remedies []string // names of package remedy
	Gone     []string // the oracles that are not violated any more
	Left     []string // the oracles that still are
	Instead  []string // what takes the violation's place, such as "liveness by no-expiry, for ever"
}

// how begins a text about what the remedy did.
func (x Tried) how() string {
	for _, name := range x.Remedies {
		if m, err := remedy.Named(name); err == nil && m.Rarer {
			return "tried at its best, better than any real measure: "
		}
	}
	return "tried: "
}

// words says what the remedy did.
func (x Tried) words() string {
	if len(x.Left)+len(x.Instead) == 0 {
		return x.how() + "the violation is gone"
	}
	text := x.how()
	if len(x.Left) > 0 {
		text += "only "
	}
	text += "the violation of " + wording.List(x.Gone) + " is gone"
	if len(x.Left) > 0 {
		text += ", that of " + wording.List(x.Left) + " is left"
	}
	if len(x.Instead) > 0 {
		text += "; instead: " + wording.List(x.Instead)
	}
	return text
}
