package checker

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// action is an operation on a lock as the models see it: an acquire or a
// release by an owner. Its output carries nothing: what failed or is unknown
// never reaches a model.
type action struct {
	release bool
	owner   int
	mode    history.Mode // of a read-write lock
}

func (a action) String() string {
	what := "acquires"
	if a.release {
		what = "releases"
	}
	switch a.mode {
	case history.Read, history.Write:
		return fmt.Sprintf("c%d %s (%s)", a.owner, what, a.mode)
	}
	return fmt.Sprintf("c%d %s", a.owner, what)
}

// state is what all states of models have in common. States are values that
// compare with ==; a step makes a new one.
type state interface {
	comparable
	fmt.Stringer
	// step returns the state after a, and whether a is legal.
	step(a action) (next any, legal bool)
	// words are what tells equal states from others, for hashing.
	words() []uint64
}

// model makes a porcupine model of states that start as init.
func model[S state](init S) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return init },
		Step: func(s, input, _ any) (bool, any) {
			next, legal := s.(S).step(input.(action))
			if !legal {
				return false, s
			}
			return true, next
		},
		Equal: func(a, b any) bool { return a.(S) == b.(S) },
		Hash: func(s any) uint64 {
			h := fnv.New64a()
			var b [8]byte
			for _, w := range s.(S).words() {
				binary.LittleEndian.PutUint64(b[:], w)
				h.Write(b[:])
			}
			return h.Sum64()
		},
		DescribeOperation: func(input, _ any) string { return input.(action).String() },
		DescribeState:     func(s any) string { return s.(S).String() },
		DescribeOperationMetadata: func(info any) string {
			text, _ := info.(string)
			return text
		},
	}
}

// The four models. Each is the sequential specification of one kind of lock.
var (
	// mutexModel knows only held and free, and lets anybody release.
	mutexModel = model(mutex(false))
	// ownedModel lets only its owner release, and nobody acquire what is held.
	ownedModel = model(owned{})
	// reentrantModel lets its owner acquire again, and counts.
	reentrantModel = model(reentrant{})
	// readWriteModel lets readers in together and a writer alone; an owner is
	// not in its own way.
	readWriteModel = model(readWrite{})
)

type mutex bool

func (m mutex) step(a action) (any, bool) { return mutex(!a.release), bool(m) == a.release }
func (m mutex) words() []uint64 {
	if m {
		return []uint64{1}
	}
	return []uint64{0}
}
func (m mutex) String() string {
	if m {
		return "held"
	}
	return "free"
}

type owned struct {
	held  bool
	owner int
}

func (o owned) step(a action) (any, bool) {
	if a.release {
		return owned{}, o == owned{held: true, owner: a.owner}
	}
	return owned{held: true, owner: a.owner}, !o.held
}
func (o owned) words() []uint64 {
	if !o.held {
		return nil
	}
	return []uint64{uint64(o.owner)}
}
func (o owned) String() string {
	if !o.held {
		return "free"
	}
	return fmt.Sprintf("held by c%d", o.owner)
}

type reentrant struct{ owner, depth int }

func (r reentrant) step(a action) (any, bool) {
	switch {
	case a.release && r.depth == 1 && r.owner == a.owner:
		return reentrant{}, true
	case a.release:
		return reentrant{r.owner, r.depth - 1}, r.depth > 0 && r.owner == a.owner
	default:
		return reentrant{a.owner, r.depth + 1}, r.depth == 0 || r.owner == a.owner
	}
}
func (r reentrant) words() []uint64 { return []uint64{uint64(r.owner), uint64(r.depth)} }
func (r reentrant) String() string {
	if r.depth == 0 {
		return "free"
	}
	return fmt.Sprintf("held by c%d, %d deep", r.owner, r.depth)
}

// readWrite is who writes, how deep, and who reads.
type readWrite struct {
	writer, depth int
	readers       crew
}

func (w readWrite) step(a action) (any, bool) {
	read := a.mode == history.Read
	foreignWriter := w.depth > 0 && w.writer != a.owner
	switch {
	case a.release && read:
		left, was := w.readers.without(a.owner)
		w.readers = left
		return w, was
	case a.release:
		if foreignWriter || w.depth == 0 {
			return w, false
		}
		if w.depth--; w.depth == 0 {
			w.writer = 0
		}
		return w, true
	case read:
		w.readers = w.readers.with(a.owner)
		return w, !foreignWriter
	default:
		legal := !foreignWriter && !w.readers.othersThan(a.owner)
		w.writer, w.depth = a.owner, w.depth+1
		return w, legal
	}
}

func (w readWrite) words() []uint64 {
	words := []uint64{uint64(w.writer), uint64(w.depth)}
	for _, r := range w.readers.list() {
		words = append(words, uint64(r))
	}
	return words
}

func (w readWrite) String() string {
	var parts []string
	if w.depth > 0 {
		parts = append(parts, fmt.Sprintf("written by c%d", w.writer))
	}
	for _, r := range slices.Compact(w.readers.list()) {
		parts = append(parts, fmt.Sprintf("read by c%d", r))
	}
	if len(parts) == 0 {
		return "free"
	}
	return strings.Join(parts, ", ")
}

// crew is a multiset of owners that compares with ==: eight bytes each, in
// ascending order.
type crew string

func (c crew) list() []int {
	var owners []int
	for b := []byte(c); len(b) > 0; b = b[8:] {
		owners = append(owners, int(binary.BigEndian.Uint64(b)))
	}
	return owners
}

func crewOf(owners []int) crew {
	var b []byte
	for _, o := range owners {
		b = binary.BigEndian.AppendUint64(b, uint64(o))
	}
	return crew(b)
}

func (c crew) with(owner int) crew {
	owners := c.list()
	i, _ := slices.BinarySearch(owners, owner)
	return crewOf(slices.Insert(owners, i, owner))
}

func (c crew) without(owner int) (crew, bool) {
	owners := c.list()
	i, found := slices.BinarySearch(owners, owner)
	if !found {
		return c, false
	}
	return crewOf(slices.Delete(owners, i, i+1)), true
}

func (c crew) othersThan(owner int) bool {
	return slices.ContainsFunc(c.list(), func(o int) bool { return o != owner })
}
