package linear

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// How operations of unknown outcome are modelled.
//
// An operation that ended with info, or never ended, takes effect at any time after its
// invocation, or never. If such an operation stayed open to the end of the history, it
// would be concurrent with all later operations, and porcupine would have to try every
// subset of such operations. Therefore porcupine gets only the invocation of such an operation. The
// invocation adds the operation's effect to a pool, which is part of the model's state. An operation
// that happened may first take the effects that it needs out of the pool:
//
//   - an acquire that is not legal takes a release of an owner that is in its way;
//   - a release that is not legal takes an acquire of its owner.
//
// All other effects stay in the pool, since they can happen later, or never. Leaving them there excludes
// no legal order: whether an acquire is legal depends on the holds of others, and an acquire in the pool
// adds no hold; whether a release is legal depends on its owner's holds alone. There is one exception,
// rules.kept: an owner that acquires again gets its old fence only if it still holds the lock. So a
// release that would free the lock has two outcomes: the owner may or may not have acquired once more
// before.
//
// If an operation could take one of several effects, the model tries each: it is
// nondeterministic. An effect that no operation takes never happened.

// lot is a number of equal effects in a pool.
type lot struct {
	action
	n int
}

// pool is a multiset of effects, encoded as lots in ascending order so that pools compare
// with ==.
type pool string

// lotSize is the number of bytes of a lot: owner, flags (release and mode), fence, n.
const lotSize = 8 + 1 + 8 + 8

var poolModes = []history.Mode{"", history.Read, history.Write}

func (p pool) lots() []lot {
	var all []lot
	for b := []byte(p); len(b) > 0; b = b[lotSize:] {
		l := lot{action{owner: int(binary.BigEndian.Uint64(b)), release: b[8]&1 != 0}, int(binary.BigEndian.Uint64(b[17:]))}
		l.mode, l.fence = poolModes[b[8]>>1], int64(binary.BigEndian.Uint64(b[9:]))
		all = append(all, l)
	}
	return all
}

func poolOf(all []lot) pool {
	var b []byte
	for _, l := range all {
		flags := byte(slices.Index(poolModes, l.mode) << 1)
		if l.release {
			flags |= 1
		}
		b = append(binary.BigEndian.AppendUint64(b, uint64(l.owner)), flags)
		b = binary.BigEndian.AppendUint64(b, uint64(l.fence))
		b = binary.BigEndian.AppendUint64(b, uint64(l.n))
	}
	return pool(b)
}

// with returns the pool after adding n effects a; n may be negative.
func (p pool) with(a action, n int) pool {
	all := p.lots()
	i, found := slices.BinarySearchFunc(all, a, func(l lot, a action) int { return compareActions(l.action, a) })
	if !found {
		all = slices.Insert(all, i, lot{a, 0})
	}
	if all[i].n += n; all[i].n == 0 {
		all = slices.Delete(all, i, i+1)
	}
	return poolOf(all)
}

func compareActions(a, b action) int {
	rank := func(a action) int {
		if a.release {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.mode, b.mode), cmp.Compare(a.fence, b.fence))
}

// possibleState is a possible state of the lock, plus the effects that may still happen.
type possibleState struct {
	lock any
	pool pool
}

func (w possibleState) String() string {
	text := fmt.Sprint(w.lock)
	var may []string
	for _, l := range w.pool.lots() {
		may = append(may, fmt.Sprintf("%s (%d)", l.action, l.n))
	}
	if len(may) > 0 {
		text += "; perhaps yet: " + strings.Join(may, ", ")
	}
	return text
}

// modelOp is an operation in porcupine's input: an operation that happened, or the
// invocation of one that perhaps happened.
type modelOp struct {
	action
	perhaps bool
}

func (s modelOp) String() string {
	if s.perhaps {
		return "perhaps, from now on: " + s.action.String()
	}
	return s.action.String()
}

// possibleStates is the state of porcupine's model. It has no duplicates, and no state that another
// one of them covers.
type possibleStates []possibleState

// covers reports whether every operation that can follow o can also follow p.
func (p possibleState) covers(o possibleState) bool {
	if p.lock != o.lock {
		return false
	}
	has := p.pool.lots()
	for _, l := range o.pool.lots() {
		i, found := slices.BinarySearchFunc(has, l.action, func(l lot, a action) int { return compareActions(l.action, a) })
		if !found || has[i].n < l.n {
			return false
		}
	}
	return true
}

func (all possibleStates) and(p possibleState) possibleStates {
	if slices.ContainsFunc(all, func(o possibleState) bool { return o.covers(p) }) {
		return all
	}
	return append(slices.DeleteFunc(all, p.covers), p)
}

func (all possibleStates) same(others possibleStates) bool {
	return len(all) == len(others) && !slices.ContainsFunc(all, func(p possibleState) bool { return !slices.Contains(others, p) })
}

func (all possibleStates) String() string {
	var texts []string
	for _, p := range all {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, " or ")
}

func (r *rules) hash(p possibleState) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for _, word := range r.words(p.lock) {
		binary.LittleEndian.PutUint64(b[:], word)
		h.Write(b[:])
	}
	h.Write([]byte(p.pool))
	return h.Sum64()
}

// model returns the rules as a porcupine model whose states are sets of possible states. The lock
// begins in one of the states in first.
func (r *rules) model(first []any) porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			var all possibleStates
			for _, lock := range first {
				all = append(all, possibleState{lock: lock})
			}
			return all
		},
		Step: func(s, input, _ any) (bool, any) {
			var after possibleStates
			for _, p := range s.(possibleStates) {
				for _, next := range r.follow(p, input.(modelOp)) {
					after = after.and(next)
				}
			}
			return len(after) > 0, after
		},
		Equal: func(a, b any) bool { return a.(possibleStates).same(b.(possibleStates)) },
		Hash: func(s any) (h uint64) {
			for _, p := range s.(possibleStates) {
				h ^= r.hash(p)
			}
			return h
		},
		DescribeOperation: func(input, _ any) string { return input.(modelOp).String() },
		DescribeState:     func(s any) string { return s.(possibleStates).String() },
	}
}

func (r *rules) follow(p possibleState, in modelOp) []possibleState {
	if in.perhaps {
		return []possibleState{{p.lock, p.pool.with(in.action, 1)}}
	}
	return r.after(p, in.action)
}

// after returns the possible states after the operation a. It takes an effect out of the
// pool only if a needs the effect.
func (r *rules) after(w possibleState, a action) []possibleState {
	next, legal := r.step(w.lock, a)
	if legal {
		return append(r.keeping(w, a), possibleState{next, w.pool})
	}
	var all []possibleState
	if !a.release {
		for _, b := range r.blockers(w.lock, a) {
			if freed, may := r.step(w.lock, b); may && w.pool.has(b) {
				all = append(all, r.after(possibleState{freed, w.pool.with(b, -1)}, a)...)
			}
		}
		return all
	}
	for _, l := range w.pool.acquires(a) {
		for _, held := range r.after(possibleState{w.lock, w.pool.with(l, -1)}, l) {
			all = append(all, r.after(held, a)...)
		}
	}
	return all
}

// keeping returns the states in which the release a does not free the lock, because an
// acquire from the pool let its owner in once more.
func (r *rules) keeping(w possibleState, a action) []possibleState {
	if !r.kept || !a.release {
		return nil
	}
	var all []possibleState
	for _, l := range w.pool.acquires(a) {
		deeper, legal := r.step(w.lock, l)
		if !legal {
			continue
		}
		if kept, legal := r.step(deeper, a); legal {
			all = append(all, possibleState{kept, w.pool.with(l, -1)})
		}
	}
	return all
}

func (p pool) has(a action) bool {
	return slices.ContainsFunc(p.lots(), func(l lot) bool { return l.action == a })
}

// acquires returns the acquires in the pool that the release a would undo.
func (p pool) acquires(a action) []action {
	var all []action
	for _, l := range p.lots() {
		if !l.release && l.owner == a.owner && l.mode == a.mode {
			all = append(all, l.action)
		}
	}
	return all
}
