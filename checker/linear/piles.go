package linear

import (
	"cmp"
	"iter"
	"slices"
)

// available lists the operations of one owner that are invoked and may still take effect: those
// that happened, in order of their replies, before those of unknown outcome.
type available []pile

// pile lists acquires, or releases. Those of unknown outcome are in one pile if their effects are equal.
type pile struct {
	modelOp // of an operation that happened, only whether it is a release
	ops     []int
}

// simple reports whether exactly one operation is available, and it happened.
func (a available) simple() bool { return len(a) == 1 && len(a[0].ops) == 1 && !a[0].perhaps }

// mixed reports whether an acquire and a release are available, and at least one of them happened.
func (a available) mixed() bool {
	other := func(p pile) bool { return p.release != a[0].release }
	return len(a) > 1 && !a[0].perhaps && slices.ContainsFunc(a, other)
}

// pileOf returns the position of the operation's pile; -1 if there is none.
func (f *frontier) pileOf(i int) (at int, key modelOp) {
	op := &f.all[i]
	if key = op.modelOp; !op.perhaps {
		key.action = action{release: op.release}
	}
	return slices.IndexFunc(f.owners[op.owner], func(p pile) bool { return p.modelOp == key }), key
}

// invoke makes an operation available.
func (f *frontier) invoke(i int) {
	op := &f.all[i]
	own := f.owners[op.owner]
	at, key := f.pileOf(i)
	if at < 0 {
		if at = 0; op.perhaps {
			at = len(own)
		}
		own = slices.Insert(own, at, pile{modelOp: key})
	}
	p := &own[at]
	n := len(p.ops)
	if !op.perhaps {
		n, _ = slices.BinarySearchFunc(p.ops, op.reply, func(o, reply int) int { return cmp.Compare(f.all[o].reply, reply) })
	}
	p.ops = slices.Insert(p.ops, n, i)
	f.offer(op.owner, own)
}

// forget makes an operation unavailable for ever.
func (f *frontier) forget(i int) {
	owner := f.all[i].owner
	own := f.owners[owner]
	at, _ := f.pileOf(i)
	p := &own[at]
	if p.ops[0] == i {
		p.ops = p.ops[1:]
	} else {
		p.ops = slices.DeleteFunc(p.ops, func(op int) bool { return op == i })
	}
	if len(p.ops) == 0 {
		own = slices.Delete(own, at, at+1)
	}
	f.offer(owner, own)
}

// offer replaces the available operations of an owner.
func (f *frontier) offer(owner int, own available) {
	if f.owners[owner] = own; !f.spec.anyone && own.mixed() {
		f.mixed[owner] = true
	} else {
		delete(f.mixed, owner)
	}
}

// usable yields the owner's available acquires, or releases, that have not taken effect in the
// situation. Of equal operations of unknown outcome, it yields only the first.
func (f *frontier) usable(s situation, owner int, release bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, p := range f.owners[owner] {
			for _, i := range p.ops {
				if p.release != release {
					break
				}
				if s.has(i) {
					continue
				}
				if !yield(i) {
					return
				}
				if p.perhaps {
					break
				}
			}
		}
	}
}
