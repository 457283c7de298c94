package keyspace

import (
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// This file finds the counts that go down. Such a count holds the number of free permits
// and is initialised before use. An acquire takes a permit; the release puts it back.

// leaning is the evidence of whether acquires raise a count or lower it.
type leaning struct {
	up, down bool // the first acquire that changed the count raised it, or lowered it
	one      bool // an acquire wrote 1 as the first number, as if the count started from zero
	returned bool // an operation other than an acquire raised the count
}

// orient finds the counts that acquires lower. It ignores a decrement by which an acquire
// only takes back its own increment. If an acquire wrote 1 as the first number, orient needs
// more evidence: an operation other than an acquire must have raised the count.
func (r *reader) orient() {
	found := map[KeyPlace]*leaning{}
	type share struct {
		KeyPlace
		op int
	}
	raised := map[share]int64{}
	for _, n := range r.order {
		for _, x := range n.items {
			if x.cmd < 0 || !r.mayCount(x.cmd) {
				continue
			}
			by := actor{pos: x.cmd, op: r.Commands[x.cmd].Op}
			for _, i := range x.changes {
				c := r.Evidence.Keys[i]
				for _, s := range r.counts(i, by) {
					at := KeyPlace{string(c.Key), s.place}
					l := found[at]
					if l == nil {
						l = &leaning{}
						found[at] = l
					}
					mine := share{at, by.op}
					raised[mine] += s.step
					l.learn(s, r.acquires(by.op), s.step < 0 && raised[mine] >= 0)
				}
			}
		}
	}
	r.down = map[KeyPlace]bool{}
	for at, l := range found {
		r.down[at] = l.down && (!l.one || l.returned)
	}
}

// learn adds the evidence of one step. undone means that the operation reverses its own earlier step.
func (l *leaning) learn(s countStep, acquire, undone bool) {
	switch {
	case !acquire:
		l.returned = l.returned || s.step > 0
	case s.from && !s.pure: // no direction: the command may have both set up the number and taken a permit
		l.one = l.one || s.step == 1
	case undone || l.up || l.down:
	default:
		l.up, l.down = s.step > 0, s.step < 0
	}
}

// countStep is one change of a number in a place that clients use as a count.
type countStep struct {
	place string
	step  int64
	from  bool // the place was empty before
	pure  bool // the command can do nothing but count
}

// counts returns the steps by which one change of a key raised or lowered numbers. by is the
// command that made the change. A number in a place that was empty is a step from zero.
func (r *reader) counts(change int, by actor) (all []countStep) {
	c, d := &r.Evidence.Keys[change], &r.Differences[change]
	pure := counters[r.name(by.pos)]
	for _, s := range d.Changed {
		if step, counts := r.counted(KeyPlace{string(c.Key), s.Name}, s.Was, s.Value, by); counts {
			all = append(all, countStep{s.Name, step, false, pure})
		}
	}
	for _, s := range d.Added {
		if step, counts := r.counted(KeyPlace{string(c.Key), s.Name}, "0", s.Value, by); counts {
			all = append(all, countStep{s.Name, step, true, pure})
		}
	}
	return all
}

// name returns the name of the command in capitals; "" if the command has no arguments.
func (r *reader) name(pos int) string {
	args := r.Commands[pos].Args
	if len(args) == 0 {
		return ""
	}
	return strings.ToUpper(string(args[0]))
}

func (r *reader) mayCount(pos int) bool {
	name := r.name(pos)
	return counters[name] || scripted[name]
}

func (r *reader) acquires(op int) bool { return op >= 0 && r.pair(op).Invoke.F == history.FAcquire }

// pair returns a client's operation by the index of its invocation; one with an empty entry if there is none.
func (r *reader) pair(op int) history.Pair {
	if p := r.pairing.Operation(op); p != nil {
		return *p
	}
	return history.Pair{Invoke: &history.Op{}}
}

// takes reports whether a command takes a share of the count rather than returns one. The parameters step
// and is are the change of the number and the number after it. If a count that goes up is still zero or
// less, only an acquire takes a share: another operation may have returned a share that it did not own.
func (r *reader) takes(at KeyPlace, step, is int64, by actor) bool {
	switch {
	case r.down[at]:
		return step < 0
	case r.acquires(by.op):
		return step > 0
	}
	return step > 0 && is > 0
}

// setUp marks the earlier grants of p that only initialised the count: they are no shares.
// A grant by another successful acquire stays a share: its command may have initialised the
// count and taken a share at once.
func (r *reader) setUp(p *placeState, g *Grant) {
	var shares []*Grant
	for _, old := range p.current {
		if done := r.pair(old.Op); old.counted || old.Op != g.Op && r.acquires(old.Op) && done.Done() == history.OK {
			shares = append(shares, old)
			continue
		}
		old.Over, old.OverSeq, old.base = g, g.Seq, true
		p.overwritten = append(p.overwritten, old)
	}
	p.current = shares
}
