package story

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// clues are properties of the lock that the evidence shows. Remedies are selected by clues, never
// by the lock's name.
type clues struct {
	tokens tokenUse
	// took names the different commands of one of the story's acquires: of the acquire with the most
	// different commands. A single command or script means that the lock is taken atomically.
	took []string
	// freed is a command that removed another client's key. prolonged is a command that changed
	// the expiry of another client's key.
	freed, prolonged *clue
	// late: a command that the finding names ran long after it was sent.
	late bool
	// hasTTL: the keys have a TTL or should have one. renews: the lock claims to renew its lease.
	// fenced: the lock claims to grant fencing tokens. deadlines: a holder has a deadline by its
	// own clock. settable: that is its wall clock. readers: it is a read-write lock.
	// reentrant: the lock claims to be reentrant.
	hasTTL, renews, fenced, deadlines, settable, readers, reentrant bool
	// nodes is how many nodes must grant the lock.
	nodes                                    int
	promoted, restarted, evicted, splitBrain bool
	twoPrimaries                             bool // different primaries granted the holds in the harm
	crashed                                  bool
	hung                                     bool // a client of the story never came back from its work
	waited                                   bool // enough replicas acknowledged a holder's key (WAIT) before a promotion
	counted                                  bool // a client repeated a command after a lost reply, and the re-entrant lock counted both
	unasked                                  bool // a client entered its lock again without sending a command to Redis
	severed                                  bool // until the harm began, a fault kept a client's commands from a node
	extended                                 bool // the harm is an extension that succeeded too late
	unfenced                                 bool // a grant carried no fencing token
	overclaimed                              bool // a holder's own deadline came after its lease had ended
	// reasons has the reasons that the finding gives, such as account.RenewalMissing.
	reasons map[account.What]bool
}

// unsent reports whether a renewal was not sent in time.
func (c clues) unsent() bool {
	return c.reasons[account.RenewalMissing] || c.reasons[account.RenewalStopped] || c.reasons[account.RenewedInstead]
}

// ungranted reports whether a client that did not crash set the key in an attempt, but did not
// learn that the lock was granted.
func (c clues) ungranted() bool {
	return c.reasons[account.SetInVain] || c.reasons[account.SetUnknown] || c.reasons[account.SetAfterwards]
}

// ownDeadline reports whether only the holder's own clock mattered: a holder has a deadline by its wall
// clock, Redis counts the TTL of the key, and the key's value is not a time.
func (c clues) ownDeadline() bool { return c.settable && c.hasTTL && c.tokens != aTime }

// clue is a command that changed another client's key. readFirst: the sender had read the key before,
// by a separate command of the same operation.
type clue struct {
	client            int
	name              string
	script, readFirst bool
	acquiring         bool // the command belongs to an acquire
}

func (t *teller) clues() clues {
	c := clues{
		tokens: t.tokens.use, hasTTL: t.leased(), renews: t.Claims.Renews, fenced: t.Claims.Fenced,
		reasons: map[account.What]bool{}, readers: t.Claims.ReadWrite, reentrant: t.Claims.Reentrant, nodes: t.Claims.NodeQuorum(),
		extended: t.Finding.Account.What == account.ExtendedLate, unfenced: t.Finding.Account.What == account.FenceMissing,
	}
	t.holdClues(&c)
	c.counted = t.Finding.kind() == checker.HarmReentry && t.repeated()
	for _, i := range t.Finding.Ops {
		c.unasked = c.unasked || t.Finding.kind() == checker.HarmReentry && t.enteredUnasked(i)
	}
	for _, r := range t.Finding.Account.Reasons {
		c.reasons[r.What] = true
	}
	for _, x := range t.Events {
		if !x.Foreign() || !t.concerns(x) {
			continue
		}
		if x.Kind == facts.Deleted {
			c.freed = t.clue(x)
		}
		if x.Kind == facts.Renewed {
			c.prolonged = t.clue(x)
		}
	}
	for _, x := range t.commandsAt(t.Finding.Commands) {
		c.late = c.late || x.Ran() && x.Served-x.Sent > Lateness
	}
	t.nemesisClues(&c)
	c.splitBrain = slices.ContainsFunc(facts.Splits(t.Ops), func(s facts.Split) bool {
		return s.From <= t.Finding.To && (s.To == 0 || s.To >= t.Start)
	})
	broken := t.Finding.Account.Broken
	c.overclaimed = broken != nil && broken.Premise == account.CountsRight
	c.severed = t.severed()
	c.twoPrimaries = c.splitBrain && c.nodes == 1 && t.apart(t.Involved())
	return c
}

// holdClues notes what the holds of the story show.
func (t *teller) holdClues(c *clues) {
	for _, h := range t.storyHolds {
		g := t.grant(h)
		var took []string
		for _, x := range g.Commands {
			if name := t.commandName(x); !slices.Contains(took, name) {
				took = append(took, name)
			}
		}
		if len(took) > len(c.took) {
			c.took = took
		}
		c.waited = c.waited || t.promotedSince(h.From) && slices.ContainsFunc(g.Commands, acknowledged)
		lease := facts.OpOf(t.Ops, h.Acquire).Lease
		c.deadlines = c.deadlines || lease != nil && lease.Deadline > 0
		c.settable = c.settable || lease != nil && lease.Deadline > 0 && !lease.Monotonic
	}
}

// nemesisClues notes which faults struck before the finding's end.
func (t *teller) nemesisClues(c *clues) {
	for _, op := range t.Ops {
		if op.Process != history.Nemesis || op.Time > t.Finding.To || op.Time < t.Start {
			continue
		}
		c.promoted = c.promoted || op.F == history.FPromote
		c.restarted = c.restarted || op.F == history.FNodeUp
		c.evicted = c.evicted || op.F == history.FEvict && len(op.Keys) > 0
		c.hung = c.hung || op.F == history.FHung && slices.Contains(t.Cast, op.Client)
		c.crashed = c.crashed || op.F == history.FCrash && slices.Contains(t.Cast, op.Client)
	}
}

// repeated reports whether a client of the story sent a command again although the command had
// run. The client had not received the reply.
func (t *teller) repeated() bool {
	unanswered := map[string]bool{}
	for _, c := range t.Commands {
		if c.Op < 0 || !c.Ran() || !slices.Contains(t.Cast, c.Client) {
			continue
		}
		key := fmt.Sprint(c.Client, c.Op, c.Node, c.Args)
		if unanswered[key] {
			return true
		}
		unanswered[key] = c.Replied == 0
	}
	return false
}

// leased reports whether a key has a TTL or should have one. It should have one if the lock claims
// to recover from a crash without the clients' clocks.
func (t *teller) leased() bool {
	return t.Claims.Recovery > 0 && !t.Claims.ClientClock || slices.ContainsFunc(t.Keyspace.Grants, func(g *keyspace.Grant) bool { return g.Last().Mortal })
}

// acknowledged reports whether the command is a WAIT that enough replicas acknowledged.
func acknowledged(c history.Command) bool {
	if len(c.Args) < 2 || !strings.EqualFold(string(c.Args[0]), "WAIT") {
		return false
	}
	asked, err := strconv.Atoi(string(c.Args[1]))
	got, err2 := strconv.Atoi(string(c.Reply))
	return err == nil && err2 == nil && asked > 0 && got >= asked
}

// promotedSince reports whether a replica was promoted from the given instant to the end of the
// finding.
func (t *teller) promotedSince(at time.Duration) bool {
	return slices.ContainsFunc(t.Ops, func(op history.Op) bool {
		return op.F == history.FPromote && op.Time >= at && op.Time <= t.Finding.To
	})
}

// severed reports whether a fault cut a client of the story off from a node: the client lost a
// command there, and the fault lasted until the harm began.
func (t *teller) severed() bool {
	return slices.ContainsFunc(t.Windows, func(w facts.Window) bool {
		return w.Hits > 0 && w.To >= t.Finding.From && slices.ContainsFunc(t.Commands, func(c history.Command) bool {
			return slices.Contains(t.Cast, c.Client) && c.Arrived == 0 && c.Sent <= t.Finding.From && lostOn(w, c)
		})
	})
}

// enteredUnasked reports whether the history's entry at index belongs to an acquire that succeeded
// without sending a command.
func (t *teller) enteredUnasked(index int) bool {
	p, ok := t.Pair(index)
	return ok && p.Complete != nil && p.Invoke.F == history.FAcquire && p.Complete.Type == history.OK &&
		!slices.ContainsFunc(t.Commands, func(c history.Command) bool { return c.Op == p.Invoke.Index })
}

func (t *teller) clue(x facts.Event) *clue {
	c, ok := facts.CommandAt(t.Commands, x.Command)
	if !ok {
		return nil
	}
	return &clue{
		client: x.Client, name: t.commandName(c), script: scripted(c), readFirst: t.readFirst(c),
		acquiring: facts.OpOf(t.Ops, c.Op).F == history.FAcquire,
	}
}

// readFirst reports whether the sender of a command had read a key on that node before, in the same
// operation.
func (t *teller) readFirst(c history.Command) bool {
	_, looked := t.lookedBefore(c)
	return looked
}

// lookedBefore returns the last command by which the sender of a command had read a key on that node, in the same
// operation; false if it had read none.
func (t *teller) lookedBefore(c history.Command) (look history.Command, looked bool) {
	for _, o := range t.Commands {
		if c.Op >= 0 && o.Op == c.Op && o.Client == c.Client && o.Node == c.Node && o.Sent < c.Sent && len(o.Args) > 0 &&
			slices.Contains([]string{"GET", "HGET"}, strings.ToUpper(string(o.Args[0]))) {
			look, looked = o, true
		}
	}
	return look, looked
}

// blindly says that a removal did not check the key's owner, or that it did so by a separate command;
// "" for a script.
func (t *teller) blindly(c history.Command) string {
	switch {
	case scripted(c) || len(c.Args) == 0:
		return ""
	case t.readFirst(c):
		return "; it had checked the key's owner before, by a separate command"
	}
	return "; it does not check whose key it removes"
}
