package linear

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// spec is the sequential specification of a kind of lock. The zero value is a mutex that nobody can
// acquire while it is held, and that only its owner can release.
type spec struct {
	anyone bool // clients are not distinguished, so that anybody may release
	again  bool // an owner that holds the lock may acquire it again, and must release it as often
	modes  bool // readers share the lock; a writer holds it alone, or with itself
	// fenced: each grant has a greater fence than all grants before. If again is set, an owner may
	// get its own fence again, unless another owner has got a fence since.
	fenced  bool
	permits int // the number of owners that may share the lock; 0 for a lock without permits
	// answered: the reading of recorded replies. Like the published models of this kind (see
	// Jepsen's tests of Hazelcast), it is stricter than the reading of believed holds: every acquire
	// takes a permit, even that of an owner that has one; and a fenced lock that was free gives a
	// greater fence even to its last owner.
	answered bool
}

// keeps reports whether the fence of an acquire depends on whether its owner already holds the lock.
func (s spec) keeps() bool { return s.again && s.fenced }

// held is the state of a lock. States compare with ==; a step returns a new state.
type held struct {
	seats seats
	fence int64 // the greatest fence so far; 0 for none
	by    int   // the owner of that fence
}

// anyFence stands for the unknown fence of an acquire that perhaps happened.
const anyFence = math.MinInt64

// step returns the state after a, and reports whether a is legal. For an unknown fence, it assumes the
// least legal one.
func (s spec) step(l held, a action) (held, bool) {
	at := s.seat(a)
	if a.release {
		left, was := l.seats.without(at)
		l.seats = left
		return l, was
	}
	legal := s.admits(l, a)
	if s.fenced {
		legal = legal && a.fence != 0
		own := s.again && l.by == a.owner && (l.seats != "" || !s.answered) // a holder that is let in is its owner
		if unknown := s.answered && a.fence == anyFence; unknown && own {
			a.fence = l.fence
		} else if unknown {
			a.fence = l.fence + 1
		}
		legal = legal && (a.fence > l.fence || own && a.fence == l.fence)
		if l.fence = a.fence; s.again {
			l.by = a.owner
		}
	}
	if !a.passing {
		l.seats = l.seats.with(at)
	}
	return l, legal
}

// admits reports whether the holders of the lock let the acquire a in.
func (s spec) admits(l held, a action) bool {
	if s.permits > 0 && s.answered {
		return l.seats.len() < s.permits
	}
	others, last := 0, seats("")
	for c := l.seats; c != ""; c = c[seatSize:] {
		at := c[:seatSize]
		switch {
		case s.permits == 0 && s.conflict(at, a):
			return false
		case at.owner() != a.owner && at != last:
			others++
		}
		last = at
	}
	return s.permits == 0 || others < s.permits
}

// conflict reports whether the holder at a seat keeps the acquire a out. Locks with permits have no such
// conflicts.
func (s spec) conflict(at seats, a action) bool {
	return !s.again || at.owner() != a.owner && !(s.modes && at.reads() && a.mode == history.Read)
}

// blockers returns releases for an acquire a that the holders keep out. One of them must come before a.
func (s spec) blockers(l held, a action) (all []action) {
	last := seats("")
	for c := l.seats; c != ""; c = c[seatSize:] {
		at := c[:seatSize]
		if at == last || s.permits == 0 && !s.conflict(at, a) {
			continue
		}
		last = at
		b := action{release: true, owner: at.owner()}
		if s.modes && at.reads() {
			b.mode = history.Read
		} else if s.modes {
			b.mode = history.Write
		}
		if all = append(all, b); s.permits == 0 {
			break // every holder in the way must leave, in any order
		}
	}
	return all
}

// mostFirst and mostCrews are the greatest numbers of states that anywhere lists: of all, and of those in which
// several owners hold the lock.
const mostFirst, mostCrews = 4096, 500

// anywhere lists the states that the lock may have in the middle of a history in which only these
// owners act and fewer than depth releases follow. It returns nil if there are too many states.
func (s spec) anywhere(owners []int, depth int) []held {
	all, crews := []held{{}}, 0
	modes := []history.Mode{history.Write, history.Read}
	if !s.modes {
		modes = modes[:1]
	}
	for i := range len(owners) * len(modes) {
		a := action{owner: owners[i/len(modes)], mode: modes[i%len(modes)]}
		for _, l := range all {
			for n := 0; n < depth && s.admits(l, a); n++ {
				if l.seats = l.seats.with(s.seat(a)); s.keeps() {
					l.by = a.owner
				}
				if last := l.seats[len(l.seats)-seatSize:]; last.owner() != l.seats.owner() {
					crews++
				}
				if all = append(all, l); crews > mostCrews || len(all) > mostFirst {
					return nil
				}
			}
		}
	}
	return all
}

// seats is a multiset of holders and their modes that compares with ==: for each hold the owner in
// eight bytes and a ninth that is 1 for a reader, in ascending order.
type seats string

const seatSize = 9

func (s spec) seat(a action) seats {
	var b [seatSize]byte
	if !s.anyone {
		binary.BigEndian.PutUint64(b[:], uint64(a.owner))
	}
	if s.modes && a.mode == history.Read {
		b[seatSize-1] = 1
	}
	return seats(b[:])
}

func (c seats) owner() int { return int(binary.BigEndian.Uint64([]byte(c[:seatSize]))) }

func (c seats) reads() bool { return c[seatSize-1] == 1 }

func (c seats) len() int { return len(c) / seatSize }

// find returns the position of the seat, or the position at which it belongs.
func (c seats) find(at seats) (i int, found bool) {
	for ; i < len(c) && c[i:i+seatSize] < at; i += seatSize {
	}
	return i, i < len(c) && c[i:i+seatSize] == at
}

func (c seats) with(at seats) seats {
	i, _ := c.find(at)
	return c[:i] + at + c[i:]
}

func (c seats) without(at seats) (seats, bool) {
	i, found := c.find(at)
	if !found {
		return c, false
	}
	return c[:i] + c[i+seatSize:], true
}

// model returns the specification in porcupine's form. The lock is free at first.
func (s spec) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return held{} },
		Step: func(l, input, _ any) (bool, any) {
			next, legal := s.step(l.(held), input.(action))
			if !legal {
				return false, l
			}
			return true, next
		},
		DescribeOperation: func(input, _ any) string { return input.(action).String() },
		DescribeState:     func(l any) string { return s.words(l.(held)) },
		DescribeOperationMetadata: func(info any) string {
			text, _ := info.(string)
			return text
		},
	}
}

// words describes a state of the lock.
func (s spec) words(l held) string {
	text := "free"
	switch holders := s.holders(l.seats); {
	case l.seats == "":
	case s.anyone:
		text = "held"
	case s.modes:
		text = strings.Join(holders, ", ")
	case s.again && s.permits == 0:
		text = fmt.Sprintf("held by %s, %d deep", holders[0], l.seats.len())
	default:
		text = "held by " + strings.Join(holders, ", ")
	}
	switch {
	case s.permits > 0:
		left := s.permits - len(s.holders(l.seats))
		return fmt.Sprintf("%s, %d of %d permits left", text, left, s.permits)
	case s.fenced && s.again && l.fence != 0:
		return fmt.Sprintf("%s, fence %d of c%d", text, l.fence, l.by)
	case s.fenced && !s.again:
		return fmt.Sprintf("%s, fence %d", text, l.fence)
	}
	return text
}

// holders lists the owners in the lock: the writer first, and each owner once.
func (s spec) holders(c seats) (all []string) {
	var readers []string
	last := seats("")
	for ; c != ""; c = c[seatSize:] {
		at := c[:seatSize]
		switch name := fmt.Sprintf("c%d", at.owner()); {
		case at == last:
		case s.modes && at.reads():
			readers = append(readers, "read by "+name)
		case s.modes:
			all = append(all, "written by "+name)
		default:
			all = append(all, name)
		}
		last = at
	}
	return append(all, readers...)
}
