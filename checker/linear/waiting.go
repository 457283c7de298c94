package linear

import "slices"

// available is the set of one owner's invoked operations that may still take effect.
type available struct{ acquires, releases waiting }

// waiting lists available operations of one kind: certain operations in order of their
// replies, and operations of unknown outcome in piles of equal ones.
type waiting struct {
	certain []int
	perhaps []pile
}

// pile lists operations of unknown outcome that have the same effect, in order of their
// invocations.
type pile struct {
	action
	ops []int
}

func (w *waiting) len() int { return len(w.certain) + len(w.perhaps) }

func (w *waiting) pile(a action) int {
	return slices.IndexFunc(w.perhaps, func(p pile) bool { return p.action == a })
}

// add adds an operation of unknown outcome.
func (w *waiting) add(a action, op int) {
	at := w.pile(a)
	if at < 0 {
		at = len(w.perhaps)
		w.perhaps = append(w.perhaps, pile{action: a})
	}
	w.perhaps[at].ops = append(w.perhaps[at].ops, op)
}

// drop removes an operation of unknown outcome.
func (w *waiting) drop(a action, op int) {
	at := w.pile(a)
	if at < 0 {
		return
	}
	p := &w.perhaps[at]
	if p.ops = without(p.ops, op); len(p.ops) == 0 {
		w.perhaps = slices.Delete(w.perhaps, at, at+1)
	}
}

// without removes an operation, which is mostly the first.
func without(ops []int, op int) []int {
	switch at := slices.Index(ops, op); {
	case at == 0:
		return ops[1:]
	case at > 0:
		return slices.Delete(ops, at, at+1)
	}
	return ops
}

func (a *available) of(release bool) *waiting {
	if release {
		return &a.releases
	}
	return &a.acquires
}

// simple reports whether exactly one operation is available and its outcome is certain.
func (a *available) simple() bool {
	return a.acquires.len()+a.releases.len() == 1 && len(a.acquires.perhaps)+len(a.releases.perhaps) == 0
}

// mixed reports whether an acquire and a release are available and at least one is certain.
func (a *available) mixed() bool {
	return a.acquires.len() > 0 && a.releases.len() > 0 && len(a.acquires.certain)+len(a.releases.certain) > 0
}
