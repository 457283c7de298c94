package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Section is one critical section: the time from an acquire's ok to its release, by the
// same client on the same lock. Deadlines do not matter.
type Section struct {
	Lock    string
	Mode    history.Mode
	Client  int
	Acquire int // index of the acquire's ok
	// Over is the time at which the client left the section: when it invoked the release, crashed,
	// or was told of the loss; Never if it did not leave.
	Over    time.Duration
	Touches []Touch // in order of Seq
}

// Touch is one read or write of the guarded resource.
type Touch struct {
	Op      history.Op    // the ok entry
	Began   time.Duration // the time of the invocation
	Section *Section      // nil outside of any section
}

// Fence returns the fence that the client sent with the operation; 0 if it sent none.
func (t Touch) Fence() int64 {
	if t.Op.Lease == nil {
		return 0
	}
	return t.Op.Lease.Fence
}

// sectionScan goes through a history once, in order, and collects touches and critical sections.
type sectionScan struct {
	claims   history.Claims
	depth    map[Owner]int
	inside   map[Owner]*Section
	byLock   map[string][]Touch
	sections []*Section
}

// Sections returns the reads and writes of a history, per lock in order of Seq, and the
// critical sections, in order of acquisition.
func Sections(e history.Evidence, pairs history.Pairing) (map[string][]Touch, []*Section) {
	x := sectionScan{claims: e.Claims, depth: map[Owner]int{}, inside: map[Owner]*Section{}, byLock: map[string][]Touch{}}
	for place, op := range e.Ops {
		began := op.Time
		// Lock, mode and, if missing, the lease of a completion come from its invocation: a completion need not
		// name them.
		if at := pairs.Of[place]; at >= 0 && op.Type != history.Invoke {
			i := pairs.All[at].Invoke
			op.Lock, op.Mode, began = i.Lock, i.Mode, i.Time
			if op.Lease == nil {
				op.Lease = i.Lease
			}
		}
		x.entry(op, began)
	}
	bySeq := func(a, b Touch) int { return cmp.Compare(a.Op.Seq, b.Op.Seq) }
	for _, ts := range x.byLock {
		slices.SortStableFunc(ts, bySeq)
	}
	for _, s := range x.sections {
		slices.SortStableFunc(s.Touches, bySeq)
	}
	return x.byLock, x.sections
}

func (x *sectionScan) entry(op history.Op, began time.Duration) {
	at := Owner{Client: op.Client, Lock: op.Lock}
	if x.claims.ReadWrite {
		at.Mode = op.Mode
	}
	switch {
	case op.Event(history.FCrash):
		x.endAll(op, func(Owner) bool { return true })
	case op.F == history.FLost:
		x.endAll(op, func(of Owner) bool {
			return (op.Lock == "" || of.Lock == op.Lock) && (op.Mode == "" || !x.claims.ReadWrite || of.Mode == op.Mode)
		})
	case op.Process == history.Nemesis:
	case op.F == history.FAcquire && op.Type == history.OK:
		x.enter(at, op)
	case op.F == history.FRelease && op.Type == history.Invoke && x.depth[at] > 0:
		if x.depth[at]--; x.depth[at] == 0 {
			x.inside[at].Over = min(x.inside[at].Over, op.Time)
			delete(x.inside, at)
		}
	case (op.F == history.FRead || op.F == history.FWrite) && op.Type == history.OK && op.Seq > 0:
		t := Touch{Op: op, Began: began, Section: x.inside[at]}
		x.byLock[op.Lock] = append(x.byLock[op.Lock], t)
		if t.Section != nil {
			t.Section.Touches = append(t.Section.Touches, t)
		}
	}
}

// endAll ends each open section of the event's client if of(p) is true for the section's owner p.
func (x *sectionScan) endAll(event history.Op, of func(Owner) bool) {
	for at, s := range x.inside {
		if at.Client == event.Client && of(at) {
			s.Over = min(s.Over, event.Time)
		}
	}
}

// enter begins a critical section. Only a reentrant lock can be acquired again inside a
// section. With any other lock an acquire begins a new section, even if the last one was
// never released.
func (x *sectionScan) enter(at Owner, op history.Op) {
	if x.claims.Reentrant && x.depth[at] > 0 {
		x.depth[at]++
		return
	}
	x.depth[at] = 1
	x.inside[at] = &Section{Lock: at.Lock, Mode: at.Mode, Client: at.Client, Acquire: op.Index, Over: Never}
	x.sections = append(x.sections, x.inside[at])
}

// Ordered returns an error if two touches of one resource have the same Seq.
func Ordered(byLock map[string][]Touch) error {
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		at := map[int64]int{}
		for _, t := range byLock[lock] {
			if other, taken := at[t.Op.Seq]; taken {
				return fmt.Errorf("entries %d and %d touch %s with the same seq %d", other, t.Op.Index, lock, t.Op.Seq)
			}
			at[t.Op.Seq] = t.Op.Index
		}
	}
	return nil
}

// Between returns the touches of other clients between the first and the last touch of s. all has
// the touches of the same resource, in order of Seq.
func Between(s *Section, all []Touch) (others []Touch) {
	if len(s.Touches) < 2 {
		return nil
	}
	bySeq := func(t Touch, seq int64) int { return cmp.Compare(t.Op.Seq, seq) }
	first, _ := slices.BinarySearchFunc(all, s.Touches[0].Op.Seq, bySeq)
	for _, t := range all[first:] {
		if t.Op.Seq >= s.Touches[len(s.Touches)-1].Op.Seq {
			break
		}
		if t.Op.Client != s.Client {
			others = append(others, t)
		}
	}
	return others
}
