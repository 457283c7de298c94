package checker

import (
	"context"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
)

// reentrancy decides whether n acquires needed n releases, and whether a client re-entered
// a lock that another client definitely held. It reports only violations that the evidence
// proves: see nesting.certain.
func reentrancy(ctx context.Context, f *Case) Verdict {
	if !f.Claims.Reentrant {
		return notApplicable(account.Fact{What: account.NotReentrant})
	}
	n := nestingOf(f.known().trial)
	if !n.tried() {
		return notApplicable(account.Fact{What: account.NothingReentered})
	}
	var findings []Finding
	for h := range untilDone(ctx, n.Holds) {
		findings = append(findings, n.enteredBeside(h)...)
		findings = append(findings, n.freedEarly(h)...)
		findings = append(findings, n.deniedEarly(h)...)
	}
	return conclude(f, findings, true)
}

// nesting is a history prepared for checking nested acquires.
type nesting struct {
	*trial
	byLock     map[string][]Hold         // in order of From
	releases   map[string][]history.Pair // by lock, in order of invocation
	attempts   []history.Pair            // all acquires
	nodeEvents []time.Duration           // when a node may have lost data, or a clock that the lock depends on was set
	parted     []evidence.Interval       // periods with two primaries
}

func nestingOf(rp *trial) nesting {
	n := nesting{trial: rp, byLock: map[string][]Hold{}, releases: map[string][]history.Pair{}}
	for _, p := range rp.Pairing.All {
		switch {
		case p.Invoke.Process == history.Nemesis:
		case p.Invoke.F == history.FRelease:
			n.releases[p.Invoke.Lock] = append(n.releases[p.Invoke.Lock], p)
		case p.Invoke.F == history.FAcquire:
			n.attempts = append(n.attempts, p)
		}
	}
	for _, h := range rp.Holds {
		n.byLock[h.Lock] = append(n.byLock[h.Lock], h)
	}
	for _, op := range rp.Ops {
		n.part(op)
		if op.EventKind().Keys.MayEnd() || rp.Claims.ClientClock && op.Event(history.FClock) {
			n.nodeEvents = append(n.nodeEvents, op.Time)
		}
	}
	return n
}

// part records the periods with two primaries. Each lasts from the first split to a
// promotion.
func (n *nesting) part(op history.Op) {
	last := len(n.parted) - 1
	open := last >= 0 && n.parted[last].To == Never
	switch {
	case op.Event(history.FSplit) && !open:
		n.parted = append(n.parted, evidence.Interval{From: op.Time, To: Never})
	case op.Event(history.FPromote) && open:
		n.parted[last].To = op.Time
	}
}

// tried reports whether any client invoked an acquire of a lock while it believed that it held this
// lock.
func (n nesting) tried() bool {
	last := map[string]map[int]Hold{} // by lock and client
	i := map[string]int{}
	for _, p := range n.attempts {
		lock, now := p.Invoke.Lock, p.Invoke.Time
		for ; i[lock] < len(n.byLock[lock]) && n.byLock[lock][i[lock]].From <= now; i[lock]++ {
			h := n.byLock[lock][i[lock]]
			if last[lock] == nil {
				last[lock] = map[int]Hold{}
			}
			last[lock][h.Client] = h
		}
		if h, ok := last[lock][p.Invoke.Client]; ok && h.Acquire < p.Invoke.Index && now < h.To {
			return true
		}
	}
	return false
}

// certain returns the time until which Redis certainly knew the hold's grant. The grant was made between
// the invocation and the ok of its acquire. It lived until its TTL ran out, a release removed it, or a node
// lost it. The releases of all clients count, since a bare DEL removes any grant, and a release of unknown
// outcome may still arrive at any time. A release r is ignored if but(r) is true. A grant made while there
// were two primaries is not certain at all, since the other primary may lack it. For the observed end of
// the grant's keys, see ended.
func (n nesting) certain(h Hold, but func(history.Pair) bool) time.Duration {
	granted := n.Pairing.Find(h.Acquire).Invoke.Time
	if slices.ContainsFunc(n.parted, func(p evidence.Interval) bool { return p.From <= granted && granted <= p.To }) {
		return 0
	}
	until := n.lived(n.Pairing.Find(h.Acquire).Invoke)
	for _, t := range n.nodeEvents {
		if t >= granted {
			until = min(until, t)
			break
		}
	}
	for _, r := range n.releases[h.Lock] {
		if but(r) {
			continue
		}
		if r.Invoke.Time >= granted {
			return min(until, r.Invoke.Time)
		}
		if r.Done() == history.Info || n.unanswered(r.Invoke.Index) || r.Complete.Time >= granted {
			return 0
		}
	}
	return until
}

// lived returns the time until which an acquire's grants lived: the earliest end of their first
// TTLs, or Never if no grant has a TTL. Without a grant, it returns 0 if the keys were observed.
// Otherwise it returns the end of the lease that the acquire asked for, or Never if no lease time is
// claimed.
func (n nesting) lived(acquire *history.Op) time.Duration {
	grants := n.Of(acquire.Index)
	_, blind := n.Blind()
	switch {
	case len(grants) > 0:
	case n.Touched() && !blind:
		return 0
	case n.Claims.TTL > 0:
		return acquire.Time + n.Claims.TTL
	}
	until := Never
	for _, g := range grants {
		for _, t := range g.Terms() {
			if t.Mortal {
				until = min(until, t.Expiry.Lo, t.Fair.Lo)
				break
			}
		}
	}
	return until
}

// ended returns the earliest time at which a grant of the hold was seen to end, or Never. Every end counts,
// whatever caused it, except an end by a command of an operation p for which but(p) is true. A grant that
// was only overwritten has not ended, because its key still keeps other clients out.
func (n nesting) ended(h Hold, but func(history.Pair) bool) time.Duration {
	at := Never
	for _, g := range n.Of(n.Pairing.Find(h.Acquire).Invoke.Index) {
		if g.End == nil {
			continue
		}
		if cmd := g.End.Cmd; cmd >= 0 && n.Has(n.Commands[cmd].Op) && but(*n.Operation(n.Commands[cmd].Op)) {
			continue
		}
		at = min(at, g.End.At.Lo)
	}
	return at
}

func none(history.Pair) bool { return false }

// enteredBeside finds the nested acquires of h that succeeded while another client
// definitely held the lock.
func (n nesting) enteredBeside(h Hold) []Finding {
	var findings []Finding
	for _, again := range h.Nested {
		p := n.Pairing.Find(again)
		for _, other := range n.byLock[h.Lock] {
			if other.From >= p.Invoke.Time {
				break
			}
			if other.Client == h.Client || other.To <= p.Complete.Time {
				continue
			}
			until := min(other.To, n.certain(other, none), n.ended(other, none))
			if until <= p.Complete.Time {
				continue
			}
			fact := account.Fact{What: account.EnteredBeside, At: p.Complete.Time}
			findings = append(findings, n.together(fact, h, other, h.Acquire, again, other.Acquire, other.End))
		}
	}
	return findings
}

// together returns the finding that the first client held the lock beside the second one from the time of the
// fact on. ops are the entries that prove it.
func (n nesting) together(fact account.Fact, first, second Hold, ops ...int) Finding {
	until := min(first.To, second.To)
	fact.Clients = []int{first.Client, second.Client}
	return Finding{
		Account: account.Account{Fact: fact, Holds: []account.Believed{believed(first), believed(second)}},
		Lock:    first.Lock, Clients: fact.Clients, From: fact.At, To: within(n.Evidence, until), lasted: until - fact.At, Ops: indices(ops...),
	}
}

// freedEarly finds grants that other clients got before h had as many releases as acquires.
func (n nesting) freedEarly(h Hold) []Finding {
	if len(h.Released) == 0 {
		return nil
	}
	first := n.Pairing.Find(h.Released[0])
	own := func(r history.Pair) bool { return slices.Contains(h.Released, r.Invoke.Index) }
	until := time.Duration(-1) // not computed yet
	var findings []Finding
	for _, other := range n.byLock[h.Lock] {
		if other.From >= h.To {
			break
		}
		p := n.Pairing.Find(other.Acquire)
		if other.Client == h.Client || p.Invoke.Time <= first.Invoke.Time {
			continue
		}
		if until < 0 {
			until = min(h.To, n.certain(h, own))
		}
		early := func(r history.Pair) bool { return own(r) || r.Invoke.Index == p.Invoke.Index }
		if min(until, n.ended(h, early)) <= p.Complete.Time {
			continue
		}
		released := 0
		for _, r := range h.Released {
			if n.Pairing.Find(r).Invoke.Time < p.Complete.Time {
				released++
			}
		}
		fact := account.Fact{What: account.FreedEarly, At: other.From, Since: h.From, Count: released, Of: len(h.Nested) + 1}
		findings = append(findings, n.together(fact, other, h, append([]int{h.Acquire, h.End, other.Acquire}, h.Released...)...))
	}
	return findings
}

// deniedEarly finds releases of h that failed with "not held" although the lock was
// definitely held: an earlier release must have undone more than one acquire. If the failed
// release itself was seen to remove the key, its failure proves nothing: the client had lost
// the reply and sent the command again.
func (n nesting) deniedEarly(h Hold) []Finding {
	if len(h.Nested) == 0 {
		return nil
	}
	all := slices.Clone(h.Released)
	if h.ToWhy == account.ByRelease {
		all = append(all, h.End)
	}
	own := func(r history.Pair) bool { return slices.Contains(all, r.Invoke.Index) }
	for _, i := range all {
		r := n.Pairing.Find(i)
		earlier := func(p history.Pair) bool { return own(p) && p.Invoke.Index != r.Invoke.Index }
		if r.Done() != history.Fail || r.Complete.Reason != history.NotHeld || min(n.certain(h, own), n.ended(h, earlier)) <= r.Complete.Time {
			continue
		}
		return []Finding{{
			Account: account.Account{
				Fact: account.Fact{
					What: account.DeniedEarly, Clients: []int{h.Client}, At: r.Complete.Time, Since: h.From,
					Count: slices.Index(all, i) + 1, Of: len(h.Nested) + 1,
				},
				Holds: []account.Believed{believed(h)},
			},
			Lock:    h.Lock,
			Clients: []int{h.Client},
			From:    h.From,
			To:      r.Complete.Time,
			Ops:     indices(append([]int{h.Acquire, r.Complete.Index}, all...)...),
		}}
	}
	return nil
}
