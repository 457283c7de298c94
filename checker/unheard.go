package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// This file is about commands that ran, or may have, while nobody saw what their node
// replied. What they did is known only where it could do but one thing; what may be
// there because of them explains nothing, and excuses nothing: whoever it may have kept
// out leaves a doubt.

// unheard says of a command that a node was handed whether nobody saw its reply.
func unheard(c history.Command) bool { return c.Reply == "" }

// inOrder says whether the command certainly ran, in an order that is known.
func (x doing) inOrder() bool {
	return x.c.Ran() && x.c.Exec > 0 && !x.n.blurred[x.pos]
}

// empty says whether there certainly was no key.
func (x doing) empty() bool {
	k := x.k
	return x.c.Exec > 0 && !x.n.blurred[x.pos] && !k.opaque && len(k.carriers)+len(k.shadows)+len(k.maybe) == 0 &&
		k.doubt == nil && k.older == nil && k.ghosts == nil
}

// foundNothing says whether a SET NX certainly took effect though nobody saw its
// reply: it ran, in the order that is known, where there certainly was no key.
func (x doing) foundNothing() bool {
	return x.a.ifAbsent && unheard(x.c) && x.inOrder() && x.empty()
}

// there says whether there certainly was a key: it carried a claim.
func (x doing) there() bool {
	k := x.k
	return x.inOrder() && !k.opaque && len(k.maybe) == 0 && k.doubt == nil && k.older == nil && !(k.ttl && x.at.hi >= k.expiry.lo) &&
		slices.ContainsFunc(k.carriers, func(l *life) bool { return l.sure && !l.own })
}

// hadToWork says whether a set, or a renewal, certainly took effect though nobody saw its
// reply: it ran, in the order that is known, and depends on nothing but that there is a key.
func (x doing) hadToWork() bool {
	free := x.a.kind == history.EffectSet && !x.a.ifAbsent && !x.a.ifPresent
	return x.a.plain && !x.a.ifAbsent && unheard(x.c) && x.inOrder() && (free || x.there())
}

// foundOwn says whether a deletion certainly took effect though nobody saw its reply:
// what certainly was there is a string, and a DEL deletes any, a script that the node
// certainly had the one whose own value it was handed, unless it may have counted down
// the entries of its owner and left some.
func (w *wire) foundOwn(x doing) bool {
	k := x.k
	if !unheard(x.c) || !x.there() || x.a.field != "" || x.a.conditional || len(k.carriers) != 1 {
		return false
	}
	l := k.carriers[0]
	if l.field != "" || slices.ContainsFunc(l.terms, unsureTerm) {
		return false
	}
	own := l.client == x.c.Client && slices.ContainsFunc(l.stamps, func(s string) bool { return slices.Contains(x.a.stamps, s) })
	once := !w.Claims.Reentrant || len(k.shadows) == 0 && !l.copied
	return !x.scripted || own && once && w.hadScript(x)
}

func unsureTerm(t term) bool { return !t.sure }

// vague remembers that the key may carry these claims, which nobody can see.
func (k *keyState) vague(lives ...*life) {
	for _, l := range lives {
		c := *l
		c.terms, c.end = slices.Clone(l.terms), nil
		k.maybe = append(k.maybe, &c)
	}
}

// fade forgets those of them whose time is certainly over.
func (k *keyState) fade(at when) {
	k.maybe = slices.DeleteFunc(k.maybe, func(l *life) bool {
		last := l.terms[len(l.terms)-1]
		return last.ttl && at.lo > last.expiry.hi
	})
}

// unsettle: the time of what may be there was perhaps moved.
func (k *keyState) unsettle() {
	for _, l := range k.maybe {
		last := &l.terms[len(l.terms)-1]
		last.sure, last.expiry = false, when{l.at.lo, lifetime}
	}
}

// claim is what a set puts on its key.
func (w *wire) claim(x doing, field string) *life {
	l := &life{
		node: x.n.name, key: x.a.key, field: field, client: x.c.Client, op: x.c.Op, cmd: x.pos,
		at: x.at, seq: w.tick(), value: x.a.value, stamps: x.a.stamps, sure: x.sure, own: x.a.own > 0,
	}
	if p := w.operation(x.c.Op); w.has(x.c.Op) {
		l.lock, l.mode = p.Invoke.Lock, p.Invoke.Mode
	}
	l.alone = !x.sure && x.empty()
	return l
}

// unseenSet: a SET NX of which nobody saw whether it took effect came where a key was.
// If that may have been gone by then, its claim may be there instead.
func (w *wire) unseenSet(x doing) {
	k := x.k
	over := k.ttl && x.at.hi >= k.expiry.lo
	heard := !unheard(x.c)
	hazy := over || k.doubt != nil || len(k.maybe) > 0 || slices.ContainsFunc(k.carriers, func(l *life) bool { return !l.sure })
	if !hazy || !over && (heard || x.c.Exec <= 0) {
		return
	}
	l := w.claim(x, w.field(x))
	l.terms = []term{{cmd: x.pos, client: x.c.Client, at: x.at, ttl: x.a.ttl > 0 || x.a.sometime, expiry: when{x.at.lo, lifetime}}}
	if x.a.ttl > 0 {
		slack := expirySlack + x.a.ttl/1000
		l.terms[0].expiry = when{x.at.lo + x.a.ttl - slack, x.at.hi + x.a.ttl + slack}
	}
	if !heard && x.c.Exec > 0 { // by what is seen of the key later, how it ended can be told
		k.vague(l)
		return
	}
	before := k.carriers
	w.blindfold(k, x.a.key, x.pos, x.at)
	if !heard {
		k.vague(append(slices.Clone(before), l)...)
	}
}

// clouded tells of an attempt that was perhaps kept out by what nobody living believed in,
// and that no finding of w.orphans is about, because nobody saw what a command did; "" if
// there is none.
func (w *wire) clouded() string {
	byOp := map[int][]meet{}
	for _, m := range slices.Concat(w.meets, w.hazes) {
		op := w.Commands[m.cmd].Op
		byOp[op] = append(byOp[op], m)
	}
	for _, op := range w.Ops {
		if meets := byOp[op.Index]; len(meets) > 0 && op.Process != history.Nemesis {
			if why := w.cloudedAt(op.Index, meets); why != "" {
				return why
			}
		}
	}
	return ""
}

func (w *wire) cloudedAt(op int, meets []meet) string {
	p, isAcquire := w.acquired(op)
	if !isAcquire || p.Done() == history.Info && w.unanswered[op] {
		return "" // it may have failed for want of an answer
	}
	nodes, why := map[string]bool{}, ""
	for _, l := range w.byOp[op] {
		nodes[l.node] = true
	}
	for _, m := range meets {
		if w.believes(p.Invoke.Lock, p.Invoke.Mode, m.at.lo, p.Invoke.Client) {
			continue
		}
		for _, l := range m.on {
			if l.op == op || compatible(l.mode, p.Invoke.Mode) || !w.mayBeNobodys(l, m) {
				continue
			}
			nodes[w.Commands[m.cmd].Node] = true
			if i := slices.IndexFunc(m.on, hazy); why == "" && i >= 0 {
				h, set := m.on[i], "set"
				if !h.sure {
					set = "may have set"
				}
				why = fmt.Sprintf("whether %s, which c%d's %s %s at %s, kept c%d out at %s though nobody believed in it cannot be told: nobody saw what was replied",
					h.key, h.client, w.name(h.cmd), set, seconds(h.at.lo), p.Invoke.Client, seconds(m.at.lo))
			}
		}
	}
	if len(nodes) < max(1, w.Claims.Quorum) {
		return ""
	}
	return why
}

// hazy says whether it is not known that the claim came about, how long it had to
// live, or how it ended.
func hazy(l *life) bool {
	return !l.sure || l.end != nil && (!l.end.sure || l.end.how == unclear) || slices.ContainsFunc(l.terms, unsureTerm)
}

// mayBeNobodys says whether perhaps nobody attended to the claim when it was met, or
// until its time was over, and it was not deleted.
func (w *wire) mayBeNobodys(l *life, m meet) bool {
	if l.end != nil && l.end.sure && l.end.how == deleted && l.over == nil {
		return false
	}
	return !w.cared(l, m.at) || len(l.terms) > 0 && w.openAt(l.op, l.terms[len(l.terms)-1].expiry.lo)
}

// unheardOf makes unknown that somebody was kept out for a cause that is not known, where
// that may be for want of a reply that nobody saw.
func (w *wire) unheardOf(v Verdict) Verdict {
	var kept, doubtful []Finding
	for _, x := range v.Findings {
		if _, muffled := w.muffled(x, x.To); muffled {
			doubtful = append(doubtful, x)
		} else {
			kept = append(kept, x)
		}
	}
	why := w.wanting(v.Findings)
	switch {
	case v.Result != Violated || len(doubtful) == 0:
		return v
	case len(kept) == 0:
		v.Result, v.Why = Unknown, why
	default:
		v.Why = sentences(v.Why, why)
	}
	v.Findings, v.Doubtful = kept, oneOfEach(append(v.Doubtful, doubtful...))
	return v
}

// wanting names the first finding whose cause cannot be told for want of a reply that
// nobody saw, and that; "" if there is none. That two believed at once needs no cause to
// be so: it stays a violation, without one.
func (w *wire) wanting(findings []Finding) string {
	for _, f := range findings {
		if pos, muffled := w.muffled(f, f.begun()); muffled {
			c := w.Commands[pos]
			return fmt.Sprintf("nobody saw what %s replied to c%d's %s of %s, so that this has no cause that can be told: %s",
				c.Node, c.Client, w.name(pos), seconds(sane(c.Sent)), f.Summary)
		}
	}
	return ""
}

// begun is when all that can have caused the finding had happened: once two believe at
// once, no more has to.
func (f Finding) begun() time.Duration {
	if f.lasted > 0 {
		return f.From
	}
	return f.To
}

// muffled finds, for a finding without a cause, a command on keys of its lock that may
// have run between its beginnings and that time, and whose reply nobody saw.
func (w *wire) muffled(f Finding, until time.Duration) (pos int, ok bool) {
	if f.Cause != Unclassified || w.unobserved() {
		return 0, false
	}
	since := f.From
	for _, i := range f.Ops {
		if i >= 0 && i < len(w.Ops) {
			since = min(since, w.Ops[i].Time)
		}
	}
	return w.unheardBetween(f.Lock, when{since, until})
}

func (w *wire) unheardBetween(lock string, during when) (pos int, ok bool) {
	for pos, c := range w.Commands {
		if !unheard(c) || c.Exec <= 0 || w.vain[pos] {
			continue
		}
		if at := w.ran(pos); at.hi < during.lo || at.lo > during.hi {
			continue
		}
		o := readCommand(c, w.scripts)
		mine := func(key string) bool { return key == lock || slices.Contains(w.holders[lock], key) }
		if len(o.acts) > 0 && slices.ContainsFunc(o.keys, mine) {
			return pos, true
		}
	}
	return 0, false
}
