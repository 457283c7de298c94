package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// The rules by which operations as they were recorded are judged: the sequential
// specifications of the models, and what stands in the way of an acquire. They
// are those of believed holds but for two that are read more strictly, as those
// who publish such models do (see Jepsen's tests of Hazelcast): of a semaphore
// every acquire takes a permit, and a fenced lock that was free gives a greater
// fence to its last owner too.

// rules are a sequential specification. The lock's states compare with ==.
type rules struct {
	init any
	step func(lock any, a action) (next any, legal bool)
	// blockers are the releases of which one has to come before the acquire a.
	blockers func(lock any, a action) []action
	words    func(lock any) []uint64
	// greatest is the greatest fence that was given; nil of a lock without fences.
	greatest func(lock any) int64
	modes    bool // a read-write lock
	// anyone: who acquires or releases makes no difference.
	anyone bool
	// kept: whether an owner may acquire depends on whether it holds the lock.
	kept bool
	// stricter allows less, and is decided sooner; nil for none.
	stricter *rules
}

// rulesOf makes rules of states that start as init.
func rulesOf[S state](init S, blockers func(S, action) []action) *rules {
	return &rules{
		init:     init,
		step:     func(lock any, a action) (any, bool) { return lock.(S).step(a) },
		blockers: func(lock any, a action) []action { return blockers(lock.(S), a) },
		words:    func(lock any) []uint64 { return lock.(S).words() },
	}
}

// anyFence is the fence of an acquire that may have been granted, of which nobody
// learnt the fence.
const anyFence = -1

// fencedBy adds fences to rules: an unknown one is the least that is legal.
func fencedBy(r *rules, greatest func(lock any) int64, least func(lock any, a action) int64) *rules {
	r.greatest = greatest
	plain := r.step
	r.step = func(lock any, a action) (any, bool) {
		if a.fence == anyFence {
			a.fence = least(lock, a)
		}
		return plain(lock, a)
	}
	return r
}

func mutexRules(int) *rules {
	r := rulesOf(mutex(false), func(mutex, action) []action { return []action{{release: true}} })
	r.anyone, r.stricter = true, ownedRules(0)
	return r
}

func ownedRules(int) *rules {
	return rulesOf(owned{}, func(o owned, _ action) []action { return o.frees() })
}

func (o owned) frees() []action {
	if !o.held {
		return nil
	}
	return []action{{release: true, owner: o.owner}}
}

func reentrantRules(int) *rules {
	return rulesOf(reentrant{}, func(r reentrant, _ action) []action { return r.frees() })
}

func (r reentrant) frees() []action {
	if r.depth == 0 {
		return nil
	}
	return []action{{release: true, owner: r.owner}}
}

func fencedRules(int) *rules {
	r := rulesOf(fenced{}, func(f fenced, _ action) []action { return f.frees() })
	greatest := func(lock any) int64 { return lock.(fenced).fence }
	return fencedBy(r, greatest, func(lock any, _ action) int64 { return greatest(lock) + 1 })
}

// regranted is a reentrant fenced mutex that gives a greater fence whenever it was
// free.
type regranted struct{ reentrantFenced }

func (g regranted) step(a action) (any, bool) {
	next, legal := g.reentrantFenced.step(a)
	if !a.release && g.depth == 0 {
		legal = legal && a.fence > g.fence
	}
	return regranted{next.(reentrantFenced)}, legal
}

func reentrantFencedRules(int) *rules {
	r := rulesOf(regranted{}, func(g regranted, a action) []action {
		if g.owner == a.owner { // only its fence is in the way
			return nil
		}
		return g.frees()
	})
	r.kept = true
	greatest := func(lock any) int64 { return lock.(regranted).fence }
	return fencedBy(r, greatest, func(lock any, a action) int64 {
		if g := lock.(regranted); g.depth > 0 && g.owner == a.owner {
			return g.fence
		}
		return greatest(lock) + 1
	})
}

func readWriteRules(int) *rules {
	r := rulesOf(readWrite{}, func(w readWrite, a action) []action {
		if w.depth > 0 && w.writer != a.owner {
			return []action{{release: true, owner: w.writer, mode: history.Write}}
		}
		for _, reader := range w.readers.list() {
			if reader != a.owner && a.mode != history.Read {
				return []action{{release: true, owner: reader, mode: history.Read}}
			}
		}
		return nil
	})
	r.modes = true
	return r
}

// permits is a semaphore of which every acquire takes a permit, its owner's second
// too.
type permits struct {
	of     int
	inside crew
}

func (p permits) step(a action) (any, bool) {
	if a.release {
		left, was := p.inside.without(a.owner)
		p.inside = left
		return p, was
	}
	p.inside = p.inside.with(a.owner)
	return p, p.left() >= 0
}
func (p permits) left() int       { return p.of - len(p.inside.list()) }
func (p permits) words() []uint64 { return semaphore{p.of, p.inside}.words() }
func (p permits) String() string {
	var holders []string
	for _, o := range p.inside.list() {
		holders = append(holders, fmt.Sprintf("c%d", o))
	}
	return fmt.Sprintf("%d of %d permits left; taken by [%s]", p.left(), p.of, strings.Join(holders, " "))
}

func permitRules(of int) *rules {
	return rulesOf(permits{of: of}, func(p permits, _ action) []action {
		var any []action
		for _, o := range slices.Compact(p.inside.list()) {
			any = append(any, action{release: true, owner: o})
		}
		return any
	})
}
