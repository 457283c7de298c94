package sim

import (
	"cmp"
	"container/heap"
	"fmt"
	"time"
)

// epoch is the wall-clock time at which every bubble of testing/synctest begins. The trial
// starts at epoch.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// now returns the time since the trial's start. It works only in a bubble.
func now() time.Duration { return time.Since(epoch) }

// event is the arrival of a packet, or a function call, at an instant.
type event struct {
	at time.Duration
	// Events scheduled for the same instant happen in the order of these fields.
	pipe, conn int
	seq        uint64

	packet *packet // the packet that arrives; may be nil
	do     func()  // called if packet is nil, with the simulation's lock held
}

func (e *event) compare(o *event) int {
	return cmp.Or(cmp.Compare(e.at, o.at), cmp.Compare(e.pipe, o.pipe), cmp.Compare(e.conn, o.conn), cmp.Compare(e.seq, o.seq))
}

// agenda is a heap of events, the next one first.
type agenda []*event

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].compare(a[j]) < 0 }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(*event)) }
func (a *agenda) Pop() any {
	old := *a
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*a = old[:len(old)-1]
	return e
}

// tick is the unit of the network's time. Each pipe's events are due at one instant within a tick,
// the pipe's place; with many pipes, some have the same place. If two events are due at one
// instant, the schedule postpones one of them. So no two events share an instant. If code that a
// pipe woke sets a timer for a whole number of ticks, the timer does not share an instant with
// events of pipes that have another place.
const tick = time.Microsecond

// Places are the nanoseconds within a tick. Pipes have the first placesOfPipes, with gaps between
// the pipes' places for other events of clients, such as staggers. Turns have the rest.
const (
	apart         = 2
	placesOfPipes = 100
	turnPlaces    = tick - placesOfPipes
)

// align returns the first instant, not before at, that belongs to this pipe.
func align(at time.Duration, pipe int) time.Duration {
	return alignTo(at, time.Duration(pipe)*apart%(placesOfPipes-apart))
}

// alignTo returns the first instant, not before at, with this place within a tick.
func alignTo(at, place time.Duration) time.Duration {
	over := (at - place) % tick
	if over < 0 {
		over += tick
	}
	if over > 0 {
		at += tick - over
	}
	return at
}

// schedule makes events happen one by one, each at its own instant: all consequences of an
// event are over before the next event. The simulation's lock guards the schedule.
type schedule struct {
	events agenda
	timer  *time.Timer
	due    time.Duration // when timer fires
	last   time.Duration // when the last event happened
	closed bool
}

// never is a time that no trial reaches.
const never = 1 << 62

func newSchedule() schedule {
	t := time.NewTimer(never)
	return schedule{timer: t, due: never}
}

// add puts an event on the agenda. The simulation's lock is held.
func (s *schedule) add(e *event) {
	if s.closed {
		return
	}
	heap.Push(&s.events, e)
	s.arm()
}

// arm sets the timer for the next event. A closed schedule's timer fires once more, and ends run.
func (s *schedule) arm() {
	if s.closed {
		return
	}
	next := time.Duration(never)
	if len(s.events) > 0 {
		next = s.events[0].at
	}
	if next == s.due {
		return
	}
	s.due = next
	if next == never {
		s.timer.Stop()
		return
	}
	s.timer.Reset(max(0, next-now()))
}

// next removes the next event from the agenda if it is due. It postpones an event whose
// instant is already taken.
func (s *schedule) next(at time.Duration) *event {
	for len(s.events) > 0 {
		e := s.events[0]
		if e.at > at {
			return nil
		}
		if e.at <= s.last {
			e.at = s.last + tick
			heap.Fix(&s.events, 0)
			continue
		}
		heap.Pop(&s.events)
		s.last = e.at
		return e
	}
	return nil
}

// run is the scheduler's goroutine, the only one that makes the simulation's events happen.
// It ends when the schedule is closed.
func (w *simulation) run() {
	for {
		<-w.schedule.timer.C
		w.mu.Lock()
		closed := w.schedule.closed
		w.mu.Unlock()
		if closed {
			return
		}
		// All earlier activity is over: every other goroutine waits.
		w.Number()
		w.mu.Lock()
		w.schedule.due = 0 // the timer has fired, so arm must set it again
		if e := w.schedule.next(now()); e != nil {
			w.happen(e)
		}
		w.schedule.arm()
		w.mu.Unlock()
	}
}

// happen executes one event. It ends the trial if the trial has used up its budget of events, or if
// the campaign's context has ended.
func (w *simulation) happen(e *event) {
	w.events++
	if w.events%interruptEvery == 0 && w.outer.Err() != nil {
		w.abandon(w.outer.Err())
	}
	if w.events > w.budget {
		// This is the testbed's limit, not a flaw of the code under test.
		w.abandon(fmt.Errorf("sim testbed: ended at %v after %d events: more than a trial may cost", now(), w.budget))
	}
	if e.packet != nil {
		w.busy = e.at
		e.packet.pipe.arrive(e.packet)
		return
	}
	e.do()
}

// interruptEvery is the number of events between two polls of the campaign's context. The
// context lives outside the bubble, so nothing in the bubble can wait for it.
const interruptEvery = 64

// close ends the scheduler. The simulation's lock is held.
func (s *schedule) close() {
	if !s.closed {
		s.closed = true
		s.events = nil
		s.timer.Reset(0) // wakes run
	}
}
