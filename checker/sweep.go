package checker

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// conflict is an overlap of two holds that a lock must not allow.
type conflict struct {
	later, earlier Hold // by From, then by Acquire
	// beside are all that were there before, if more than one owner may be: then
	// earlier is the first of them.
	beside []Hold
	until  time.Duration // when there were no longer too many
}

// from and to bound the overlap; to is Never if it did not end.
func (c conflict) from() time.Duration { return c.later.From }
func (c conflict) to() time.Duration   { return c.until }

// maxConflicts bounds how many conflicts a sweep lists: with k clients that
// all believe they hold the lock there are k of them for every grant.
const maxConflicts = 10_000

// overlaps is what a sweep found.
type overlaps struct {
	list  []conflict      // in order of from, at most maxConflicts
	total int             // how many there are
	locks map[string]bool // the locks that have any
}

// sweep finds all conflicts among holds, which are in order of From, of a lock
// with that many permits. Overlap is strict: a hold that begins in the instant in
// which another ends is beside nobody. Where several owners may hold the lock, a
// hold conflicts with all that are there if it is one too many.
//
// It takes O(n log n) and what the conflicts themselves take to list.
func sweep(holds []Hold, permits int) overlaps {
	found := overlaps{locks: map[string]bool{}}
	active := map[string]*present{}
	for _, h := range holds {
		p := active[h.Lock]
		if p == nil {
			p = &present{}
			active[h.Lock] = p
		}
		p.leave(h.From)
		n := p.against(h, permits)
		if n > 0 {
			found.total += n
			found.locks[h.Lock] = true
		}
		switch {
		case n == 0 || len(found.list) >= maxConflicts:
		case permits > 1:
			found.list = append(found.list, p.crowded(h, permits))
		default:
			p.list(h, &found)
		}
		p.enter(h)
	}
	return found
}

// present are the holds of one lock that are open at the sweep's position,
// readers and all others apart, since readers do not mind readers.
type present struct {
	readers, others crowd
}

func (p *present) enter(h Hold) { p.crowdOf(h).enter(h) }

func (p *present) crowdOf(h Hold) *crowd {
	if h.Mode == history.Read {
		return &p.readers
	}
	return &p.others
}

func (p *present) leave(now time.Duration) {
	p.readers.leave(now)
	p.others.leave(now)
}

// against counts the conflicts of h with the open holds. Readers and writers know
// of no permits.
func (p *present) against(h Hold, permits int) int {
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

// list adds h's conflicts to found, in order of the earlier hold.
func (p *present) list(h Hold, found *overlaps) {
	var beside []Hold
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
	sortHolds(beside)
	for _, g := range beside {
		if len(found.list) == maxConflicts {
			return
		}
		found.list = append(found.list, conflict{later: h, earlier: g, until: min(h.To, g.To)})
	}
}

// crowded is the conflict of h, which is one owner too many, with all that are
// there. It ends when so many have left that the rest have permits.
func (p *present) crowded(h Hold, permits int) conflict {
	last := map[int]time.Duration{h.Client: h.To} // by owner: when its last hold ends
	var beside []Hold
	for _, g := range p.others.holds {
		last[g.Client] = max(last[g.Client], g.To)
		if g.Client != h.Client {
			beside = append(beside, g)
		}
	}
	sortHolds(beside)
	ends := slices.Sorted(maps.Values(last))
	return conflict{later: h, earlier: beside[0], beside: beside, until: min(h.To, ends[len(ends)-permits-1])}
}

// crowd is a heap of holds by To that knows how many each client has.
type crowd struct {
	holds []Hold
	of    map[int]int
}

func (c *crowd) enter(h Hold) {
	if c.of == nil {
		c.of = map[int]int{}
	}
	c.of[h.Client]++
	heap.Push(c, h)
}

// leave lets go of the holds that ended by now.
func (c *crowd) leave(now time.Duration) {
	for len(c.holds) > 0 && c.holds[0].To <= now {
		h := heap.Pop(c).(Hold)
		if c.of[h.Client]--; c.of[h.Client] == 0 {
			delete(c.of, h.Client)
		}
	}
}

// foreign counts the holds of all clients but this one.
func (c *crowd) foreign(client int) int { return len(c.holds) - c.of[client] }

// owners counts the clients that have a hold, but for this one.
func (c *crowd) owners(but int) int {
	n := len(c.of)
	if c.of[but] > 0 {
		n--
	}
	return n
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (c *crowd) Len() int           { return len(c.holds) }
func (c *crowd) Less(i, j int) bool { return c.holds[i].To < c.holds[j].To }
func (c *crowd) Swap(i, j int)      { c.holds[i], c.holds[j] = c.holds[j], c.holds[i] }
func (c *crowd) Push(x any)         { c.holds = append(c.holds, x.(Hold)) }
func (c *crowd) Pop() any {
	last := c.holds[len(c.holds)-1]
	c.holds = c.holds[:len(c.holds)-1]
	return last
}
