package linear

import (
	"cmp"
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
	ending := make([]int, 0, len(holds)) // places in order of To; a hold that ends at once is never open
	for i, h := range holds {
		if h.To > h.From {
			ending = append(ending, i)
		}
	}
	slices.SortFunc(ending, func(a, b int) int { return cmp.Compare(holds[a].To, holds[b].To) })
	locks := map[string]*present{}
	for i, h := range holds {
		for ; len(ending) > 0 && holds[ending[0]].To <= h.From; ending = ending[1:] {
			ended := holds[ending[0]]
			locks[ended.Lock].crowdOf(ended).leave(ending[0], ended.Client)
		}
		p := locks[h.Lock]
		if p == nil {
			p = &present{newCrowd(), newCrowd()}
			locks[h.Lock] = p
		}
		if n := p.against(h, permits); n > 0 {
			found.Total += n
			found.Locks[h.Lock] = true
			if len(found.List) < maxOverlaps {
				found.List = append(found.List, p.overlaps(holds, i, permits)...)
				found.List = found.List[:min(len(found.List), maxOverlaps)]
			}
		}
		if h.To > h.From {
			p.crowdOf(h).enter(i, h.Client)
		}
	}
	return found
}

// present has one lock's holds that are open at the sweep's position. Readers are
// separate, since they do not conflict with each other.
type present struct {
	readers, others crowd
}

func (p *present) crowdOf(h Hold) crowd {
	if h.Mode == history.Read {
		return p.readers
	}
	return p.others
}

// against counts the overlaps of h with the open holds. With several permits, h has at most one
// overlap, with all open holds together. A lock with several permits has no modes.
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

// overlaps returns the overlaps of the hold at i, in order of the earlier hold. With several permits it
// is one overlap, which ends when enough owners have left for the permits to suffice.
func (p *present) overlaps(holds []Hold, i, permits int) (all []Overlap) {
	h := holds[i]
	var beside []int
	last := map[int]time.Duration{h.Client: h.To} // by owner: the end of its last hold
	for _, c := range []crowd{p.others, p.readers} {
		for at, client := range c.open {
			last[client] = max(last[client], holds[at].To)
			if client != h.Client && (h.Mode != history.Read || holds[at].Mode != history.Read) {
				beside = append(beside, at)
			}
		}
	}
	slices.Sort(beside)
	if permits > 1 {
		ends := slices.Sorted(maps.Values(last))
		return []Overlap{{Later: i, Earlier: beside[0], Beside: beside, Until: min(h.To, ends[len(ends)-permits-1])}}
	}
	for _, at := range beside {
		all = append(all, Overlap{Later: i, Earlier: at, Until: min(h.To, holds[at].To)})
	}
	return all
}

// crowd is a set of open holds.
type crowd struct {
	open map[int]int // by place: the client
	of   map[int]int // by client: the number of its holds
}

func newCrowd() crowd { return crowd{map[int]int{}, map[int]int{}} }

func (c crowd) enter(place, client int) {
	c.open[place] = client
	c.of[client]++
}

func (c crowd) leave(place, client int) {
	delete(c.open, place)
	if c.of[client]--; c.of[client] == 0 {
		delete(c.of, client)
	}
}

func (c crowd) foreign(client int) int { return len(c.open) - c.of[client] }

// owners returns the number of clients that have a hold. It does not count the client whose number
// is except.
func (c crowd) owners(except int) int {
	n := len(c.of)
	if c.of[except] > 0 {
		n--
	}
	return n
}
