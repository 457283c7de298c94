package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// clues are properties of the lock that the evidence shows. Measures are selected by clues, never
// by the lock's name.
type clues struct {
	perAttempt bool // every attempt writes a value of its own
	// clears: an acquire removed another client's key. sets: an acquire changed the expiry of another client's key.
	clears, sets bool
	// hasTTL: the keys have a TTL or should have one. renews: the lock renews its lease.
	// fenced: the lock claims to grant fencing tokens. deadlines: a holder has a deadline by its
	// own clock. ownDeadline: that is its wall clock, only this clock mattered, and Redis counts the key's TTL.
	// readers: it is a read-write lock.
	hasTTL, renews, fenced, deadlines, ownDeadline, readers bool
	// nodes is how many nodes must grant the lock.
	nodes                                    int
	promoted, restarted, evicted, splitBrain bool
	twoPrimaries                             bool // different primaries granted the holds in the harm
	crashed                                  bool
	hung                                     bool // a client of the story never came back from its work
	counted                                  bool // a client repeated a command after a lost reply, and the re-entrant lock counted both
	unasked                                  bool // a client entered its lock again without sending a command to Redis
	extended                                 bool // the harm is an extension that succeeded too late
	unfenced                                 bool // a grant carried no fencing token
	overclaimed                              bool // a holder's own deadline came after its lease had ended
	// reasons has the reasons that the finding gives, such as account.RenewalMissing.
	reasons map[account.What]bool
}

// lost reports whether a fault struck that may set a node's data back.
func (c clues) lost() bool { return c.promoted || c.restarted || c.splitBrain }

func (t *teller) clues() clues {
	c := clues{
		perAttempt: t.tokens.use == perAttempt, hasTTL: t.leased(), fenced: t.Claims.Fenced, renews: t.renews(),
		reasons: map[account.What]bool{}, readers: t.Claims.ReadWrite, nodes: t.Claims.NodeQuorum(),
		extended: t.Finding.Account.What == account.ExtendedLate, unfenced: t.Finding.Account.What == account.FenceMissing,
	}
	for _, h := range t.storyHolds {
		if lease := facts.OpOf(t.Ops, h.Acquire).Lease; lease != nil && lease.Deadline > 0 {
			c.deadlines = true
			c.ownDeadline = c.ownDeadline || !lease.Monotonic && c.hasTTL && t.tokens.use != aTime
		}
	}
	c.counted = t.Finding.kind() == checker.HarmReentry && t.repeated()
	for _, i := range t.Finding.Ops {
		c.unasked = c.unasked || t.Finding.kind() == checker.HarmReentry && t.enteredUnasked(i)
	}
	for _, r := range t.Finding.Account.Reasons {
		c.reasons[r.What] = true
	}
	for _, x := range t.Events {
		if command, ok := facts.CommandAt(t.Commands, x.Command); ok && x.Foreign() && t.concerns(x) && facts.OpOf(t.Ops, command.Op).F == history.FAcquire {
			c.clears = c.clears || x.Kind == facts.Deleted
			c.sets = c.sets || x.Kind == facts.Renewed
		}
	}
	t.nemesisClues(&c)
	c.splitBrain = slices.ContainsFunc(facts.Splits(t.Ops), func(s facts.Split) bool {
		return s.From <= t.Finding.To && (s.To == 0 || s.To >= t.Start)
	})
	broken := t.Finding.Account.Broken
	c.overclaimed = broken != nil && broken.Premise == account.CountsRight
	c.twoPrimaries = c.splitBrain && c.nodes == 1 && t.apart(t.Involved())
	return c
}

// renews reports whether the lock claims to renew its lease, or does so in the background.
func (t *teller) renews() bool {
	return t.Claims.Renews || slices.ContainsFunc(t.Events, func(x facts.Event) bool {
		c, ok := facts.CommandAt(t.Commands, x.Command)
		return ok && x.Kind == facts.Renewed && !x.Foreign() && c.Op < 0
	})
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

// enteredUnasked reports whether the history's entry at index belongs to an acquire that succeeded
// without sending a command.
func (t *teller) enteredUnasked(index int) bool {
	p, ok := t.Pair(index)
	return ok && p.Complete != nil && p.Invoke.F == history.FAcquire && p.Complete.Type == history.OK &&
		!slices.ContainsFunc(t.Commands, func(c history.Command) bool { return c.Op == p.Invoke.Index })
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
