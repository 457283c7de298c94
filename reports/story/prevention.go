package story

import (
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// measure is what usually helps against a cause, where applies says that it suits the lock and the trial.
type measure struct {
	applies func(clues) bool
	tries   string // the remedy of package remedy that tries it, and has its text; "" = none does
	text    string
}

func always(clues) bool     { return true }
func unfenced(c clues) bool { return !c.fenced }
func readers(c clues) bool  { return c.readers && !c.twoPrimaries }
func single(c clues) bool   { return c.nodes == 1 }
func extended(c clues) bool { return c.extended }
func becauseOf(w account.What) func(clues) bool {
	return func(c clues) bool { return c.reasons[w] }
}

const fromSetting = "setting the key and its TTL by one command, `SET key token NX PX ttl`, instead of a separate EXPIRE that may hit another client's key"

// measures has what usually helps against each cause, the most effective first.
var measures = map[checker.Cause][]measure{
	checker.Race: {
		{func(c clues) bool { return c.twoPrimaries && !c.fenced }, remedy.Fence, ""},
		{func(c clues) bool { return c.twoPrimaries }, "", "`min-replicas-to-write` makes it rarer: a primary that has lost its replicas then soon refuses to grant anything"},
		{func(c clues) bool { return c.twoPrimaries }, remedy.OnePrimary, ""},
		{readers, "", "a record for every reader, a field of a hash or a member of a set, so that a reader that comes or leaves does not hide the others"},
		{becauseOf(account.ByOtherNodes), "", "more than half of the nodes for every grant: two such majorities have a node in common, and the grants here had none"},
		{func(c clues) bool { return c.counted }, "", "idempotent commands: a client repeated a command whose reply was lost (go-redis: MaxRetries), and the lock counted it twice. Let the script remember the request, or do not repeat it"},
		{becauseOf(account.OwnRemoval), "", "leaving the key in place until the last release: here one of the holder's own commands removed it. A re-entrant lock counts the holder's entries beside its token"},
		{func(c clues) bool {
			return !c.twoPrimaries && !c.counted && !c.reasons[account.ByOtherNodes] && !c.reasons[account.OwnRemoval]
		}, remedy.AtomicTake, ""},
	},
	checker.ForeignDelete: {
		{readers, "", "a record for every reader, a field of a hash or a member of a set, so that a release removes only its own"},
		{func(c clues) bool { return c.clears }, "", "not removing a key that looks stale but letting it expire: between the check and the DEL it may become another client's key"},
		{func(c clues) bool { return !c.readers && !c.clears }, remedy.OwnRelease, ""},
	},
	checker.ForeignRenewal: {
		{func(c clues) bool { return c.sets }, "", fromSetting},
		{func(c clues) bool { return !c.sets }, remedy.OwnRenewal, ""},
		{func(c clues) bool { return !c.sets && !c.extended }, "", "a renewal that ends with the hold: at its release, and when an attempt fails"},
	},
	checker.RenewalFailed: {
		{becauseOf(account.RenewalStopped), "", "a renewal of its own for each lock, which only the release of that lock ends: here the renewals of this lock stopped when another lock was released"},
		{becauseOf(account.RenewedInstead), "", "a renewal that ends with its lock's release: here the renewals of released leases went on, and if a fixed number of threads renews, a held lease waits for a free thread"},
		{func(c clues) bool { return !c.reasons[account.RenewalStopped] && !c.reasons[account.RenewedInstead] }, "", "renewing for as long as the lock is held, early enough for several attempts within a TTL, and trying again after a renewal without an answer"},
		{always, remedy.StopsAtDeadline, ""},
		{unfenced, remedy.Fence, ""},
	},
	checker.LeaseOutlived: {
		{extended, remedy.OwnRenewal, ""},
		{func(c clues) bool { return c.overclaimed }, "", "a deadline before the key's expiry: the TTL counted from the moment before the command that sets the key was sent, not from its reply, less an allowance for clock drift"},
		{unfenced, remedy.Fence, ""},
		{func(c clues) bool { return !c.deadlines }, remedy.StopsAtDeadline, ""},
		{func(c clues) bool { return !c.renews && !c.hung && !c.overclaimed }, remedy.KeepWhileInUse, ""},
		{func(c clues) bool { return c.hung && !c.renews }, "", "a limit to the work, shorter than the lease: a timeout or a deadline around everything that waits. Not renewal, which would keep the lock of a holder that hangs, and everybody else out, for ever"},
	},
	checker.ShortLease: {
		{always, "", "giving the key the whole TTL that the caller asked for, in milliseconds (PX, PEXPIRE), or rounded up if seconds are all there is"},
	},
	checker.LongLease: {
		{always, "", "giving the key the TTL that the caller asked for and no more, in the unit of the command: PX and PEXPIRE count milliseconds, EX and EXPIRE seconds"},
	},
	checker.ServerLostKey: {
		{unfenced, remedy.Fence, ""},
		{func(c clues) bool { return (c.promoted || c.splitBrain) && c.nodes == 1 }, "", "waiting until all replicas have the key (WAIT) before the lock counts as taken makes it rarer"},
		{func(c clues) bool { return c.nodes == 1 && !c.evicted }, "", "a quorum of independent nodes instead of one that may fail makes it rarer"},
		{func(c clues) bool { return c.restarted && c.nodes > 1 }, "", "delayed restarts: a node that comes back without its data stays away until every lease that it may have granted is over"},
		{func(c clues) bool { return !c.splitBrain }, remedy.Durable, ""},
		{func(c clues) bool { return c.splitBrain }, remedy.OnePrimary, ""},
	},
	checker.ServerClock: {
		{always, remedy.Clocks, ""},
		{unfenced, remedy.Fence, ""},
		{single, "", "a quorum of independent nodes makes it rarer: the clocks of most of them would have to jump"},
	},
	checker.ClientClock: {
		{func(c clues) bool { return c.ownDeadline }, "", "a deadline by a monotonic clock, which cannot be set, instead of the wall clock: Redis counted the key's TTL, and the holder counted its own time by a wrong clock"},
		{func(c clues) bool { return !c.ownDeadline }, "", "server time instead of the clients' clocks: letting Redis count the TTL (PX, PEXPIRE), or asking it for TIME in the script"},
		{unfenced, remedy.Fence, ""},
	},
	checker.NoKey: {
		{always, "", "a key in Redis that the acquire sets only if it is absent (SET NX PX): what one process keeps in its own memory keeps no other process out"},
	},
	checker.NoExpiry: {{always, remedy.Expiry, ""}},
	checker.LateCommand: {
		{always, remedy.OwnRelease, ""},
		{unfenced, remedy.Fence, ""},
	},
	checker.FenceRegressed: {
		{func(c clues) bool { return c.unfenced }, "", "a fencing token with every grant: a counter in Redis that the script that takes the lock increments"},
		{func(c clues) bool { return !c.unfenced && c.lost() }, "", "keeping the counter of the fencing tokens where no restart and no failover can set it back: `appendfsync always` and waiting for replicas, or a store with consensus"},
		{func(c clues) bool { return !c.unfenced && !c.lost() }, "", "taking the lock and its fencing token by one Lua script, and never lowering, deleting or expiring the counter"},
		{always, "", "a resource that remembers the greatest fencing token it saw, on stable storage"},
	},
	checker.OrphanedKey: {
		{func(c clues) bool { return c.reasons[account.SetInVain] && c.nodes == 1 }, "", "a look at the key after each refusal: if it holds the client's own token, an earlier command of the attempt took the lock and its reply was lost. The client then holds the lock, or deletes the key by its token. A Redis client that repeats commands by itself, as go-redis does unless MaxRetries is -1, is refused by its own key"},
		{func(c clues) bool { return !c.crashed }, remedy.NoOrphan, ""},
		{func(c clues) bool { return c.hasTTL }, "", "nothing prevents it altogether: a client that is gone, or cannot reach Redis, cannot take its key back before the TTL is over. A shorter TTL makes the wait shorter"},
		{func(c clues) bool { return !c.hasTTL }, remedy.Expiry, ""},
	},
	checker.HungHolder: {
		{always, "", "a limit to the work, a timeout or a deadline around everything that waits, so that the holder comes back and releases"},
		{always, "", "a watchdog that stops renewing after the longest time that work may take: others then get in while a hung holder may still come back, so the resource needs a fencing token"},
	},
	checker.FalseAnswer: {
		{becauseOf(account.GrantUnheard), "", "reporting an error or a timeout as an unknown outcome: the lock may have been taken. Only a refusal from Redis means that the lock is busy"},
		{becauseOf(account.GrantUnheard), remedy.NoOrphan, ""},
		{becauseOf(account.HeldRefused), "", "telling the caller that the lock is busy whenever Redis refuses it: a grant is what Redis confirmed, and nothing else. A script has to answer what its own SET was answered"},
		{func(c clues) bool { return !c.reasons[account.GrantUnheard] && !c.reasons[account.HeldRefused] }, "", "answering by the replies to the lock's own commands: a removal that Redis confirmed is a success, and so is a grant that no command took back"},
	},
	checker.Starved: {
		{always, "", "a queue in Redis that grants the lock in the order in which clients asked, and from which the dead are removed"},
		{always, "", "a random pause between two attempts makes it rarer: a client that asks in the same rhythm as another releases loses every time"},
	},
	checker.LeftFree: {
		{becauseOf(account.ScriptForgotten), "", "sending the script itself (EVAL) when EVALSHA is answered with NOSCRIPT: a restart, a failover or SCRIPT FLUSH makes Redis forget scripts at any time"},
		{becauseOf(account.ToldToWait), "", "asking again after a lease at the latest, whatever life Redis told: a node counts by its own clock, which may be wrong"},
		{becauseOf(account.NothingAsked), "", "asking again from time to time, in addition to listening for a message: Redis keeps no message for a client that is not listening at that moment, so any message may be missed"},
		{becauseOf(account.AskedInVain), "", "checking Redis's answer to the last attempt: the lock was free, and an error of Redis or of a connection must not keep a client from asking again"},
	},
	checker.CrossSlot: {{always, "", "keeping all data of the lock in one key, or in keys with one hash tag, `{lock}:read` and `{lock}:write`: a Redis Cluster hashes only the text in the braces"}},
	checker.Unmarked:  {{always, "", "a record of the finished work, written under the lock, and a check of this record before the work: no lock keeps another client from doing the work again later"}},
	checker.Deadlock:  {{always, "", "a timeout, or a context with a deadline, around everything that waits"}},
	checker.Panic:     {{always, "", "fixing the bug that the stack shows: an unexpected error or reply, or state that an earlier call left behind"}},
	checker.Runaway:   {{always, "", "a limit to the attempts, a pause between them, and a context that ends them"}},
}

// prevented returns what remedies did, those that are enough first. Then follow the measures against the finding's
// cause that were not tried.
func (t *teller) prevented() (texts []string) {
	c := t.clues()
	var effects remedy.Effects
	if t.Remedied != nil {
		effects = *t.Remedied
	}
	for _, x := range effects.Tried {
		if c.renews && slices.Contains(x.Remedies, remedy.KeepWhileInUse) {
			continue
		}
		how := " (tried: "
		if !x.Real() {
			how = " (tried at its best, better than any real measure: "
		}
		texts = append(texts, together(x.Remedies)+how+x.Words()+")")
	}
	if c.unasked {
		texts = append(texts, t.untried("asking Redis at every entry, also when the client believes that it holds the lock: here the inner entry sent no command, so it did not notice that another client held the lock", ""))
	}
	for _, m := range measures[t.Finding.Cause] {
		told := slices.ContainsFunc(effects.Tried, func(x remedy.Effect) bool { return slices.Contains(x.Remedies, m.tries) })
		switch {
		case !m.applies(c) || told || effects.Others[m.tries] == remedy.InVain:
		case m.tries == "":
			texts = append(texts, t.untried(m.text, ""))
		default:
			names := []string{m.tries}
			if slices.Contains([]string{remedy.OwnRelease, remedy.OwnRenewal}, m.tries) && !c.perAttempt {
				names = append(names, remedy.UniqueToken) // a check of values that others have too is none
			}
			texts = append(texts, t.untried(together(names), effects.Others[m.tries]))
		}
	}
	return texts
}

// untried returns the text of a measure that was not tried, with the reason. Where nothing was tried, the heading says so.
func (t *teller) untried(text string, why remedy.Why) string {
	switch {
	case t.Remedied == nil:
		return text
	case why == remedy.Undecided:
		return text + " (tried: undecided)"
	case why != "":
		return text + " (not tried: " + string(why) + ")"
	}
	return text + " (not tried)"
}

// together returns the measures of remedies, as one text.
func together(names []string) string {
	var texts []string
	for _, name := range names {
		r, _ := remedy.Named(name)
		texts = append(texts, r.Measure)
	}
	return strings.Join(texts, "; together with ")
}
