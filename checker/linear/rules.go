package linear

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// The rules judge recorded operations. They are the sequential specifications of the
// models, and they also name the owners that block an acquire. Like the published models of
// this kind (see Jepsen's tests of Hazelcast), they are stricter than the models of
// believed holds in two points. In a semaphore every acquire takes a permit. A fenced lock
// that was free gives a greater fence even to its last owner.

// rules is a sequential specification. The lock's states compare with ==.
type rules struct {
	init any
	step func(lock any, a action) (next any, legal bool)
	// blockers returns releases for an acquire a that is not legal. One of them must come before a.
	blockers func(lock any, a action) []action
	words    func(lock any) []uint64
	// greatest returns the greatest fence so far; it is nil for a lock without fences.
	greatest func(lock any) int64
	modes    bool // a read-write lock
	// anywhere lists the states that the lock may have in the middle of a history, if fewer
	// than depth releases follow and only these owners act. It is nil, or returns nil, if
	// there are too many states.
	anywhere func(owners []int, depth int) []any
	// anyone: clients are not distinguished, so that anybody may release.
	anyone bool
	// kept: the result of an acquire may depend on whether its owner already holds the
	// lock.
	kept bool
	// stricter rules allow less and decide faster; nil for none.
	stricter *rules
}

func rulesOf[S state](init S, blockers func(S, action) []action) *rules {
	return &rules{
		init:     init,
		step:     func(lock any, a action) (any, bool) { return lock.(S).step(a) },
		blockers: func(lock any, a action) []action { return blockers(lock.(S), a) },
		words:    func(lock any) []uint64 { return lock.(S).words() },
	}
}

// anyFence stands for the unknown fence of an acquire that perhaps happened.
const anyFence = -1

// fencedBy adds fences to rules. For an unknown fence (anyFence), it assumes the least legal fence.
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
	r.anywhere = func([]int, int) []any { return []any{mutex(false), mutex(true)} }
	return r
}

func ownedRules(int) *rules {
	r := rulesOf(owned{}, func(o owned, _ action) []action { return o.frees() })
	r.anywhere = func(owners []int, _ int) []any {
		return heldBy(owners, 1, func(o, _ int) any { return owned{true, o} }, owned{})
	}
	return r
}

// heldBy lists the free state, and for each owner the held states at each depth from 1 to
// depth.
func heldBy(owners []int, depth int, held func(owner, depth int) any, free any) []any {
	all := []any{free}
	for _, o := range owners {
		for d := range depth {
			all = append(all, held(o, d+1))
		}
	}
	return all
}

func (o owned) frees() []action {
	if !o.held {
		return nil
	}
	return []action{{release: true, owner: o.owner}}
}

func reentrantRules(int) *rules {
	r := rulesOf(reentrant{}, func(r reentrant, _ action) []action { return r.frees() })
	r.anywhere = func(owners []int, depth int) []any {
		return heldBy(owners, depth, func(o, d int) any { return reentrant{o, d} }, reentrant{})
	}
	return r
}

func (r reentrant) frees() []action {
	if r.depth == 0 {
		return nil
	}
	return []action{{release: true, owner: r.owner}}
}

func fencedRules(int) *rules {
	r := rulesOf(fenced{}, func(f fenced, _ action) []action { return f.frees() })
	r.anywhere = func(owners []int, _ int) []any {
		return heldBy(owners, 1, func(o, _ int) any { return fenced{owned: owned{true, o}} }, fenced{})
	}
	greatest := func(lock any) int64 { return lock.(fenced).fence }
	return fencedBy(r, greatest, func(lock any, _ action) int64 { return greatest(lock) + 1 })
}

// regranted is a reentrant fenced mutex. Whenever it is free, its next fence must be
// greater than all earlier fences.
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
		if g.owner == a.owner { // the owner does not block itself: only the fence can be illegal
			return nil
		}
		return g.frees()
	})
	r.kept = true
	r.anywhere = func(owners []int, depth int) []any {
		return heldBy(owners, depth, func(o, d int) any {
			return regranted{reentrantFenced{reentrant: reentrant{o, d}, by: o}}
		}, regranted{})
	}
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
	r.anywhere = func(owners []int, depth int) []any {
		all := heldBy(owners, depth, func(o, d int) any { return readWrite{writer: o, depth: d} }, nil)[1:]
		for _, o := range owners {
			alone := crews([]int{o}, depth)
			if alone == nil {
				return nil
			}
			for _, own := range alone[1:] {
				for d := range depth {
					all = append(all, readWrite{writer: o, depth: d + 1, readers: own})
				}
			}
		}
		readers := crews(owners, depth)
		for _, c := range readers {
			all = append(all, readWrite{readers: c})
		}
		if readers == nil {
			return nil
		}
		return all
	}
	return r
}

// mostCrews is the greatest number of multisets that crews lists.
const mostCrews = 500

// crews lists the multisets that contain each owner at most `most` times, the empty one
// first. It returns nil if there are more than mostCrews.
func crews(owners []int, most int) []crew {
	all := []crew{""}
	for _, o := range owners {
		for _, c := range all {
			for range most {
				if c = c.with(o); len(all) == mostCrews {
					return nil
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// permits is a semaphore in which every acquire takes a permit, even a second acquire of
// the same owner.
type permits struct{ semaphore }

func (p permits) step(a action) (any, bool) {
	if a.release {
		left, was := p.inside.without(a.owner)
		p.inside = left
		return p, was
	}
	p.inside = p.inside.with(a.owner)
	return p, p.left() >= 0
}

func (p permits) left() int { return p.permits - len(p.inside.list()) }

func (p permits) String() string {
	var holders []string
	for _, o := range p.inside.list() {
		holders = append(holders, fmt.Sprintf("c%d", o))
	}
	return fmt.Sprintf("%d of %d permits left; taken by [%s]", p.left(), p.permits, strings.Join(holders, " "))
}

func permitRules(of int) *rules {
	r := rulesOf(permits{semaphore{permits: of}}, func(p permits, _ action) []action {
		var all []action
		for _, o := range slices.Compact(p.inside.list()) {
			all = append(all, action{release: true, owner: o})
		}
		return all
	})
	r.anywhere = func(owners []int, depth int) (all []any) {
		for _, c := range crews(owners, min(depth, of)) {
			if p := (permits{semaphore{of, c}}); p.left() >= 0 {
				all = append(all, p)
			}
		}
		return all
	}
	return r
}
