package checker

import (
	"container/heap"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// conflict is an overlap of two holds that a lock must not allow.
type conflict struct {
	later, earlier Hold // by From, then by Acquire
}

// from and to bound the overlap; to is Never if neither hold ended.
func (c conflict) from() time.Duration { return c.later.From }
func (c conflict) to() time.Duration   { return min(c.later.To, c.earlier.To) }

// maxConflicts bounds how many conflicts a sweep lists: with k clients that
// all believe they hold the lock there are k of them for every grant.
const maxConflicts = 10_000

// overlaps is what a sweep found.
type overlaps struct {
	list  []conflict      // in order of from, at most maxConflicts
	total int             // how many there are
	locks map[string]bool // the locks that have any
}

// sweep finds all conflicts among holds, which are in order of From. Overlap
// is strict: a hold that begins in the instant in which another ends is beside
// nobody. It takes O(n log n) and what the conflicts themselves take to list.
func sweep(holds []Hold) overlaps {
	found := overlaps{locks: map[string]bool{}}
	active := map[string]*present{}
	for _, h := range holds {
		p := active[h.Lock]
		if p == nil {
			p = &present{}
			active[h.Lock] = p
		}
		p.leave(h.From)
		n := p.against(h)
		if n > 0 {
			found.total += n
			found.locks[h.Lock] = true
		}
		if n > 0 && len(found.list) < maxConflicts {
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

// against counts the open holds that h must not be beside.
func (p *present) against(h Hold) int {
	n := p.others.foreign(h.Client)
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
		found.list = append(found.list, conflict{later: h, earlier: g})
	}
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
		c.of[h.Client]--
	}
}

// foreign counts the holds of all clients but this one.
func (c *crowd) foreign(client int) int { return len(c.holds) - c.of[client] }

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
