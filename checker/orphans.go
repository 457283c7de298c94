package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// orphan collects what the keys of one abandoned operation did to others, as
// long as that had one cause.
type orphan struct {
	op int
	excess
	lives []*life
	first meet // of those that were kept out
	last  meet
	kept  []int // clients
	ops   []int
	cmds  []int
	// renewed: somebody without a hold prolonged it, and it kept others out in
	// the time that was so gained.
	renewed *term
	// before: it went on to keep others out for another cause.
	before bool
}

// orphans finds the keys that nobody living believed in and that kept others
// out until they expired or were taken over: "blocked up to TTL".
//
// An attempt counts if it found such a key on so many nodes that without them
// it would have had its quorum, while no living client believed that it held
// the lock; one of unknown outcome, only if all its commands were answered. What
// its own client deleted in the end does not count, nor what somebody else's DEL or a node's loss took away before it could expire.
func (w *wire) orphans() []Finding {
	byOp := map[int][]meet{}
	var ops []int
	for _, m := range w.meets {
		op := w.Commands[m.cmd].Op
		if _, isAcquire := w.acquired(op); !isAcquire {
			continue
		}
		if byOp[op] == nil {
			ops = append(ops, op)
		}
		byOp[op] = append(byOp[op], m)
	}
	slices.Sort(ops)
	type label struct {
		op    int
		cause Cause
	}
	found := map[label]*orphan{}
	var order []label
	for _, op := range ops {
		blockers := w.keptOutBy(op, byOp[op])
		for _, b := range blockers {
			x := w.excess(b.life, b.meet, w.operation(op).Invoke.Client)
			as := label{b.of, x.cause}
			o := found[as]
			if o == nil {
				for _, earlier := range order {
					found[earlier].before = found[earlier].before || earlier.op == b.of
				}
				o = &orphan{op: b.of, first: b.meet, excess: x}
				found[as] = o
				order = append(order, as)
			}
			o.add(w, op, b)
		}
	}
	var findings []Finding
	for _, as := range order {
		findings = append(findings, w.orphaned(found[as]))
	}
	return findings
}

// blocker is one orphan that an attempt met.
type blocker struct {
	of   int // the operation that left it
	life *life
	meet meet
}

// keptOutBy lists the orphans without which the attempt would have succeeded
// there and then; none if it was not kept out, or not by orphans alone.
func (w *wire) keptOutBy(op int, meets []meet) []blocker {
	p := w.operation(op)
	if p.Done() == history.Info && w.unanswered[op] {
		return nil // it may have failed for want of an answer
	}
	var blockers []blocker
	nodes, own := map[string]bool{}, map[string]int{}
	for _, l := range w.byOp[op] {
		own[l.node] = l.seq
	}
	for _, m := range meets {
		// Of what it met on one node, the first tells; it may have been let in later.
		node := w.Commands[m.cmd].Node
		if in, ok := own[node]; nodes[node] || ok && in < m.seq || w.believes(p.Invoke.Lock, p.Invoke.Mode, m.at.lo, p.Invoke.Client) {
			continue
		}
		var here []blocker
		for _, l := range m.on {
			if compatible(l.mode, p.Invoke.Mode) || l.op == op {
				continue
			}
			if !w.orphanAt(l, m) || !w.outlasted(l, op) {
				here = nil
				break
			}
			here = append(here, blocker{of: l.op, life: l, meet: m})
		}
		if len(here) > 0 {
			nodes[node] = true
			blockers = append(blockers, here...)
			delete(own, node)
		}
	}
	if len(blockers) == 0 || len(nodes)+len(own) < max(1, w.Claims.Quorum) {
		return nil
	}
	return blockers
}

// orphanAt says whether nobody attended to the claim when it was met, or its
// owner went on waiting for the outcome of its attempt until the key expired.
func (w *wire) orphanAt(l *life, m meet) bool {
	if !l.sure || len(l.terms) == 0 {
		return false
	}
	if l.end != nil && l.end.how == expired && w.openAt(l.op, l.end.at.hi) && l.terms[len(l.terms)-1].moved >= 0 {
		return true // the life was used up by waiting, not cut short by the node's clock
	}
	if t := l.termAt(m.at.lo); t.ttl && m.at.lo >= t.expiry.lo {
		return false // Redis takes its time to let it go
	}
	return !w.cared(l, m.at)
}

// cared says whether the owner of a claim had to do with it at that time: it
// was alive, and making it, counting on it or giving it back.
func (w *wire) cared(l *life, at when) bool {
	for _, t := range []time.Duration{at.lo, at.hi} {
		if w.attends(l.client, l.lock, t) || w.openAt(l.op, t) && t < w.crashOf(l.client) {
			return true
		}
	}
	return false
}

// outlasted says whether the claim ended by its own life, or by a takeover of
// what had become stale, or not at all; and whether the attempt was over, or
// still without success, by then.
func (w *wire) outlasted(l *life, op int) bool {
	granted := w.operation(op).Done() == history.OK
	stale := w.Claims.ClientClock && !granted // then it took over itself
	last := l.terms[len(l.terms)-1]
	switch {
	case l.over != nil && l.over.client != l.client && stale:
		return l.over.op != op
	case l.end == nil:
		// In a trial that was broken off its owner may still have removed it.
		return (last.ttl || stale) && !granted && !w.broke
	case l.end.how == expired:
		return true
	case l.end.how == deleted:
		c := w.Commands[l.end.cmd]
		_, takeover := w.acquired(c.Op)
		return stale && takeover && c.Client != l.client && c.Op != op
	}
	return false
}

func (o *orphan) add(w *wire, op int, b blocker) {
	o.last = b.meet
	client := w.operation(op).Invoke.Client
	if !slices.Contains(o.kept, client) {
		o.kept = append(o.kept, client)
		o.ops = append(o.ops, op)
		o.cmds = append(o.cmds, b.meet.cmd)
	}
	if !slices.Contains(o.lives, b.life) {
		o.lives = append(o.lives, b.life)
	}
	if t := w.prolonged(b.life, b.meet); t != nil && !w.Claims.ClientClock {
		o.renewed = t
	}
}

// prolonged is the last renewal before the meeting by somebody who had no
// business with the claim, if without such renewals the key would have been
// gone by then; else nil.
func (w *wire) prolonged(l *life, m meet) *term {
	var last *term
	for i := len(l.terms) - 1; i > 0; i-- {
		t, before := &l.terms[i], &l.terms[i-1]
		gone := before.ttl && before.expiry.hi < m.at.lo
		if t.at.lo > m.at.lo || last != nil && !gone || !w.unowned(t, l) {
			continue
		}
		if last == nil {
			last = t
		}
		if gone {
			return last
		}
	}
	return nil
}

// unowned says whether whoever prolonged the claim had no business with it: it
// was not its own, or nobody attended to it any more when the renewal was sent.
// What was sent in time and arrived late is the owner's last word.
func (w *wire) unowned(t *term, l *life) bool {
	sent := w.Commands[t.cmd].Sent
	return t.client != l.client || !w.cared(l, when{sent, sent})
}

// orphaned tells of one orphan.
func (w *wire) orphaned(o *orphan) Finding {
	l := o.lives[0]
	until, ended := o.end()
	slices.Sort(o.kept)
	names := make([]string, len(o.kept))
	for i, c := range o.kept {
		names[i] = fmt.Sprintf("c%d", c)
	}
	f := Finding{
		Cause: cmp.Or(o.cause, OrphanedKey), Lock: l.lock, Clients: append([]int{l.client}, o.kept...), From: o.first.at.lo, To: max(o.first.at.lo, within(w.Evidence, until)),
		Ops: indices(append(w.entries(o.op), w.entries(o.ops...)...)...), Commands: w.indexOf(append([]int{l.cmd}, o.cmds...)...),
		Summary: fmt.Sprintf("%s kept %s out from %s on until %s at %s, though nobody believed in it: %s",
			l.key, strings.Join(names, ", "), seconds(o.first.at.lo), ended, seconds(until), w.abandoned(l)),
	}
	if o.why != "" {
		f.Summary += "; " + o.why
	}
	if o.renewed != nil {
		f.Cause = ForeignRenewal
		f.Commands = w.indexOf(append([]int{l.cmd, o.renewed.cmd}, o.cmds...)...)
		f.Summary += fmt.Sprintf("; c%d, which did not hold it, went on prolonging it with %s, last at %s",
			o.renewed.client, w.name(o.renewed.cmd), seconds(o.renewed.at.lo))
	}
	f.Broken = w.broken(suspicion{f, l, []int{l.cmd}})
	return f
}

// end is when it kept others out no more, and how that came.
func (o *orphan) end() (until time.Duration, ended string) {
	until, ended = o.last.at.hi, "it was still there when the run ended"
	if o.before {
		return until, "its time was over"
	}
	for _, x := range o.lives {
		switch {
		case x.end != nil && x.end.how == expired:
			until, ended = max(until, x.end.at.mid()), "it expired"
		case x.over != nil:
			until, ended = max(until, x.over.at.lo), "it was taken over"
		case x.end != nil:
			until, ended = max(until, x.end.at.lo), "it was taken over"
		}
	}
	return until, ended
}

// abandoned tells how a claim came to be nobody's.
func (w *wire) abandoned(l *life) string {
	op := l.op
	p, isAcquire := w.acquired(op)
	set := fmt.Sprintf("c%d's %s had set it at %s", l.client, w.name(l.cmd), seconds(l.at.lo))
	crash, crashed := w.crashes[l.client]
	switch {
	case !isAcquire:
		return set
	case crashed && (p.Complete == nil || p.Complete.Type == history.OK):
		return fmt.Sprintf("%s, and c%d crashed at %s", set, l.client, seconds(crash))
	case p.Complete == nil:
		return fmt.Sprintf("%s in an attempt that never ended", set)
	case l.end != nil && p.Complete.Time > l.end.at.hi:
		return fmt.Sprintf("%s in an attempt that went on until %s", set, seconds(p.Complete.Time))
	case p.Complete.Type == history.OK:
		return fmt.Sprintf("%s, and its release did not remove it", set)
	case l.at.lo > p.Complete.Time:
		return fmt.Sprintf("%s, after that attempt had ended at %s", set, seconds(p.Complete.Time))
	}
	return fmt.Sprintf("%s, in an attempt that ended %s at %s", set, outcomeWords[p.Complete.Type], seconds(p.Complete.Time))
}

var outcomeWords = map[history.Type]string{history.Info: "unknown", history.Fail: "without success"}
