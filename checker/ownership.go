package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/keyspace"
)

// ownership decides whether no command ended a grant of another owner that certainly
// still stood at that node, or changed its life: whichever command it was, and whether
// it deleted the key, the field or the member that carries the grant, or put another
// value in its place. Raising a count, or joining a queue, ends nobody's grant.
//
// A grant counts from the command that made it, in an acquire that ended with ok, until
// the owner stops believing: its release, its claimed deadline, the loss that it was
// told of, or its crash. So neither the leftover of a failed RedLock attempt is
// anybody's, nor the key of a dead owner. Where it was not seen what the keys were, or
// a grant rests on no key, the answer is unknown.
func ownership(ctx context.Context, f *caseFile) Verdict {
	w, err := f.wire()
	switch {
	case err != nil:
		return impossible(err)
	case !w.Touched():
		return Verdict{Result: NotApplicable, Why: "no commands on keys were recorded"}
	}
	var findings []Finding
	doubt := cmp.Or(w.Blind(), w.unseenGrant())
	for _, s := range w.Strikes {
		if ctx.Err() != nil {
			return Verdict{Result: Unknown, Why: ctx.Err().Error()}
		}
		found, why := w.trespass(s)
		findings = append(findings, found...)
		doubt = cmp.Or(doubt, why)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.From, b.From) })
	switch {
	case len(findings) > maxFindings:
		return Verdict{Result: Violated, Findings: findings[:maxFindings],
			Why: fmt.Sprintf("the first %d of %d findings are listed", maxFindings, len(findings))}
	case len(findings) > 0:
		return Verdict{Result: Violated, Findings: findings}
	case doubt != "":
		return Verdict{Result: Unknown, Why: doubt}
	}
	return Verdict{Result: Held}
}

// unseenGrant tells of a hold that rests on nothing that any key carries, or on a key
// of which nobody saw how its grant ended; "" if there is none.
func (w *wire) unseenGrant() string {
	for _, h := range w.holds {
		op, ok := w.invocation(h.Acquire)
		if !ok {
			continue
		}
		if len(w.Of(op)) == 0 && (w.sentSomething(op) || !w.entersAgain(h)) && !w.restsOnNothing(op) {
			return fmt.Sprintf("what c%d was granted at %s rests on no key that it set or found", h.Client, seconds(h.From))
		}
		for _, g := range w.Of(op) {
			if g.End != nil && g.End.How == keyspace.Unclear && g.End.At.Lo < h.To {
				return fmt.Sprintf("nobody saw what became of %s on %s, which c%d had set at %s", g.Key, g.Node, g.Client, seconds(g.At.Lo))
			}
		}
	}
	return ""
}

// entersAgain says whether the hold began while something of an earlier acquire of the
// same client still stood.
func (w *wire) entersAgain(h Hold) bool {
	return slices.ContainsFunc(w.Grants, func(g *keyspace.Grant) bool {
		return g.Client == h.Client && g.Lock == h.Lock && g.At.Lo <= h.From && (g.End == nil || g.End.At.Hi >= h.From)
	})
}

// trespass judges one strike: a finding for each owner that it robbed, or what could
// not be told.
func (w *wire) trespass(s keyspace.Strike) (findings []Finding, doubt string) {
	who := w.Commands[s.Cmd].Client
	mine := func(g *keyspace.Grant) bool { return g.Client == who }
	if s.Kind == keyspace.Prolonging && (slices.ContainsFunc(s.On, mine) || w.enters(s.Cmd, s.Key)) {
		return nil, "" // its own grant is on the key too
	}
	for _, g := range s.On {
		until := w.grantedUntil(g)
		if g.Client == who || s.At.Lo >= until || w.tookStale(s, g) || w.sharesReading(s, g) {
			continue
		}
		if s.At.Hi > until {
			doubt = fmt.Sprintf("whether c%d still held %s of %s when c%d's %s ran at %s cannot be told",
				g.Client, g.Key, seconds(g.At.Lo), who, w.name(s.Cmd), seconds(s.At.Lo))
			continue
		}
		findings = append(findings, w.robbery(s, g, until))
	}
	return findings, doubt
}

// tookStale says whether the strike is an acquire that took over what had lasted as
// long as the lease by its node's clock.
func (w *wire) tookStale(s keyspace.Strike, g *keyspace.Grant) bool {
	_, isAcquire := w.acquired(w.Commands[s.Cmd].Op)
	return isAcquire && s.Kind != keyspace.Prolonging && w.lapsedByNode(g, s.At.Lo)
}

// sharesReading says whether a reader's grant took the place of another reader's, or its
// life: that the lock has one record for both is a race of its protocol, which exclusion
// tells.
func (w *wire) sharesReading(s keyspace.Strike, g *keyspace.Grant) bool {
	p, isAcquire := w.acquired(w.Commands[s.Cmd].Op)
	return isAcquire && s.Kind != keyspace.Removal && compatible(g.Mode, p.Invoke.Mode)
}

// grantedUntil is when the owner stopped believing in what l put there; 0 if it
// never believed.
func (w *wire) grantedUntil(l *keyspace.Grant) time.Duration {
	if h := w.hold(l); h != nil {
		return h.To
	}
	return 0
}

// hold is the hold that the claim belongs to; nil if its acquire did not end
// with ok.
func (w *wire) hold(l *keyspace.Grant) *Hold {
	p, isAcquire := w.acquired(l.Op)
	if !isAcquire || p.Complete == nil {
		return nil
	}
	if i, ok := w.holdOf[p.Complete.Index]; ok {
		return &w.holds[i]
	}
	return nil
}

func (w *wire) robbery(s keyspace.Strike, l *keyspace.Grant, until time.Duration) Finding {
	c := w.Commands[s.Cmd]
	f := Finding{
		Cause: ForeignDelete, Lock: l.Lock, Clients: []int{c.Client, l.Client}, From: s.At.Lo, To: max(s.At.Lo, within(w.Evidence, until)),
		Commands: w.indexOf(l.Cmd, s.Cmd), Ops: w.entries(l.Op, c.Op),
	}
	did := map[keyspace.Kind]string{keyspace.Removal: "removed", keyspace.Replacement: "put its own in the place of", keyspace.Prolonging: "set the life of"}[s.Kind]
	if s.Kind == keyspace.Prolonging {
		f.Cause = ForeignRenewal
	}
	if _, isAcquire := w.acquired(c.Op); isAcquire && s.Kind == keyspace.Replacement {
		f.Cause = Race
		if w.Claims.ClientClock {
			f.Cause = cmp.Or(w.takenOver(l, s.Cmd).cause, Race)
		}
	}
	late := ""
	if p := w.operation(c.Op); w.has(c.Op) && !w.openAt(c.Op, s.At.Lo) {
		late = fmt.Sprintf(", which belonged to an operation of %s and arrived late,", seconds(p.Invoke.Time))
	}
	f.Summary = fmt.Sprintf("c%d's %s at %s%s %s %s on %s, which carried c%d's grant of %s",
		c.Client, w.name(s.Cmd), seconds(s.At.Lo), late, did, l.Key, l.Node, l.Client, seconds(l.At.Lo))
	f.Broken = w.broken(suspicion{f, l, []int{l.Cmd, s.Cmd}})
	return f
}

// entries gives the indices of the entries of these operations.
func (w *wire) entries(ops ...int) []int {
	var all []int
	for _, op := range ops {
		if p := w.operation(op); w.has(op) {
			all = append(all, p.Invoke.Index)
			if p.Complete != nil {
				all = append(all, p.Complete.Index)
			}
		}
	}
	return indices(all...)
}
