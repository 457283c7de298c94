package linear

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// The models of locks that several owners may hold together.

// readWrite lets readers share the lock, but a writer holds it alone. An owner does not
// block itself. The state holds the writer, the number of its acquires, and the readers.
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

// semaphore lets as many owners share the lock as it has permits. An owner takes one
// permit, however often it acquires.
type semaphore struct {
	permits int
	inside  crew
}

func (s semaphore) step(a action) (any, bool) {
	if a.release {
		left, was := s.inside.without(a.owner)
		s.inside = left
		return s, was
	}
	s.inside = s.inside.with(a.owner)
	return s, s.left() >= 0
}

func (s semaphore) left() int { return s.permits - len(slices.Compact(s.inside.list())) }

func (s semaphore) words() []uint64 {
	words := []uint64{uint64(s.permits)}
	for _, o := range s.inside.list() {
		words = append(words, uint64(o))
	}
	return words
}

func (s semaphore) String() string {
	permits := fmt.Sprintf("%d of %d permits left", s.left(), s.permits)
	var holders []string
	for _, o := range slices.Compact(s.inside.list()) {
		holders = append(holders, fmt.Sprintf("c%d", o))
	}
	if len(holders) == 0 {
		return "free, " + permits
	}
	return "held by " + strings.Join(holders, ", ") + ", " + permits
}

// crew is a multiset of owners that compares with ==: eight bytes for each owner, in
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
