package linear

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Hold is one period in which a client believed that it held a lock, in the sweep's reading
// of the history.
type Hold struct {
	Lock     string
	Client   int
	Mode     history.Mode
	From, To time.Duration
}

// Overlap is a forbidden overlap of holds. It identifies holds by their places in the slice
// that was passed to Sweep.
type Overlap struct {
	Later, Earlier int
	// Beside lists the other clients' holds that were open when Later began, if the lock
	// has several permits. Earlier is then the first of them.
	Beside []int
	Until  time.Duration // when the overlap ended
}

// maxOverlaps is the greatest number of overlaps that a sweep lists: if k clients all
// believe that they hold the lock, the next grant adds k overlaps.
const maxOverlaps = 10_000

// Overlaps is the result of a sweep.
type Overlaps struct {
	List  []Overlap       // in order of Later, at most 10,000
	Total int             // the number of overlaps, listed or not
	Locks map[string]bool // the locks with overlaps
}

// Sweep finds all overlaps among the holds of locks with that many permits. The holds must
// be in order of From. A hold that begins at the instant at which another one ends does not
// overlap with it. With several permits, a hold that exceeds the permits conflicts with all
// open holds together.
//
// Sweep takes O(n log n) time, plus the time for listing the overlaps.
func Sweep(holds []Hold, permits int) Overlaps {
	found := Overlaps{Locks: map[string]bool{}}
	active := map[string]*present{}
	for i, hold := range holds {
		h := placed{hold, i}
		p := active[h.Lock]
		if p == nil {
			p = &present{}
			active[h.Lock] = p
		}
		p.leave(h.From)
		n := p.against(h, permits)
		if n > 0 {
			found.Total += n
			found.Locks[h.Lock] = true
		}
		switch {
		case n == 0 || len(found.List) >= maxOverlaps:
		case permits > 1:
			found.List = append(found.List, p.crowded(h, permits))
		default:
			p.list(h, &found)
		}
		p.enter(h)
	}
	return found
}

type placed struct {
	Hold
	place int
}

func byPlace(a, b placed) int { return cmp.Compare(a.place, b.place) }

// present has one lock's holds that are open at the sweep's position. Readers are
// separate, since they do not conflict with each other.
type present struct {
	readers, others crowd
}

func (p *present) enter(h placed) { p.crowdOf(h).enter(h) }

func (p *present) crowdOf(h placed) *crowd {
	if h.Mode == history.Read {
		return &p.readers
	}
	return &p.others
}

func (p *present) leave(now time.Duration) {
	p.readers.leave(now)
	p.others.leave(now)
}

// against counts the overlaps of h with the open holds. With several permits, h has at most one
// overlap, with all open holds together. A lock with several permits has no modes.
func (p *present) against(h placed, permits int) int {
	n := p.others.foreign(h.Client)
	if permits > 1 {
		if p.others.owners(h.Client) < permits {
			return 0
		}
		return 1
	}
	if h.Mode != history.Read {
		n += p.readers.foreign(h.Client)
	}
	return n
}

// list adds h's overlaps to found, in order of the earlier hold.
func (p *present) list(h placed, found *Overlaps) {
	var beside []placed
	crowds := []*crowd{&p.others}
	if h.Mode != history.Read {
		crowds = append(crowds, &p.readers)
	}
	for _, c := range crowds {
		for _, g := range c.holds {
			if g.Client != h.Client {
				beside = append(beside, g)
			}
		}
	}
	slices.SortFunc(beside, byPlace)
	for _, g := range beside {
		if len(found.List) == maxOverlaps {
			return
		}
		found.List = append(found.List, Overlap{Later: h.place, Earlier: g.place, Until: min(h.To, g.To)})
	}
}

// crowded returns the overlap of h, which exceeds the permits, with all open holds. The
// overlap ends when enough owners have left for the permits to suffice.
func (p *present) crowded(h placed, permits int) Overlap {
	last := map[int]time.Duration{h.Client: h.To} // by owner: the end of its last hold
	var beside []placed
	for _, g := range p.others.holds {
		last[g.Client] = max(last[g.Client], g.To)
		if g.Client != h.Client {
			beside = append(beside, g)
		}
	}
	slices.SortFunc(beside, byPlace)
	ends := slices.Sorted(maps.Values(last))
	o := Overlap{Later: h.place, Earlier: beside[0].place, Until: min(h.To, ends[len(ends)-permits-1])}
	for _, g := range beside {
		o.Beside = append(o.Beside, g.place)
	}
	return o
}

// crowd is a heap of holds ordered by To.
type crowd struct {
	holds []placed
	of    map[int]int // number of holds by client
}

func (c *crowd) enter(h placed) {
	if c.of == nil {
		c.of = map[int]int{}
	}
	c.of[h.Client]++
	heap.Push(c, h)
}

func (c *crowd) leave(now time.Duration) {
	for len(c.holds) > 0 && c.holds[0].To <= now {
		h := heap.Pop(c).(placed)
		if c.of[h.Client]--; c.of[h.Client] == 0 {
			delete(c.of, h.Client)
		}
	}
}

func (c *crowd) foreign(client int) int { return len(c.holds) - c.of[client] }

// owners returns the number of clients that have a hold. It does not count the client whose number
// is except.
func (c *crowd) owners(except int) int {
	n := len(c.of)
	if c.of[except] > 0 {
		n--
	}
	return n
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (c *crowd) Len() int           { return len(c.holds) }
func (c *crowd) Less(i, j int) bool { return c.holds[i].To < c.holds[j].To }
func (c *crowd) Swap(i, j int)      { c.holds[i], c.holds[j] = c.holds[j], c.holds[i] }
func (c *crowd) Push(x any)         { c.holds = append(c.holds, x.(placed)) }
func (c *crowd) Pop() any {
	last := c.holds[len(c.holds)-1]
	c.holds = c.holds[:len(c.holds)-1]
	return last
}
