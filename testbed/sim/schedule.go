package sim

import (
	"cmp"
	"container/heap"
	"time"
)

// epoch is when every bubble begins, says testing/synctest. It is the trial's
// start and, unskewed, what every wall clock shows then.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// now is the time since the trial's start. Only for use in a bubble.
func now() time.Duration { return time.Since(epoch) }

// event is a packet that arrives, or something else that happens at an instant.
type event struct {
	at time.Duration
	// Of two events that were meant for one instant, the smaller goes first.
	way, conn int
	seq       uint64

	packet *packet // arrives by its way, if not nil
	do     func()  // called otherwise; with the world's lock held
}

func (e *event) compare(o *event) int {
	return cmp.Or(cmp.Compare(e.at, o.at), cmp.Compare(e.way, o.way), cmp.Compare(e.conn, o.conn), cmp.Compare(e.seq, o.seq))
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

// tick is the unit of the network's time: two events of one way are at least this far
// apart, and each way has an instant of its own within every tick. So an event shares its
// instant with no other event, and with no timer that was set for whole ticks by code
// that another way woke.
const tick = time.Microsecond

// Places within a tick. Ways have the first ones, a little apart from each other: what
// clients do beside the network, as their staggers, falls in between. Turns have the
// others.
const (
	apart       = 2
	placesOfWay = 100
	turnPlaces  = tick - placesOfWay
)

// align moves an instant to the next one that belongs to the way of that number.
func align(at time.Duration, way int) time.Duration {
	return alignTo(at, time.Duration(way)*apart%(placesOfWay-apart))
}

// alignTo moves an instant to the next one at that place within a tick.
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

// schedule makes events happen, one after the other, each at an instant of its
// own: what one sets off is over before the next. The world's lock guards it.
type schedule struct {
	events agenda
	timer  *time.Timer
	due    time.Duration // when timer fires
	last   time.Duration // when the last event happened
	closed bool
	stop   chan struct{}
}

// never is later than any trial lasts.
const never = 1 << 62

func newSchedule() schedule {
	t := time.NewTimer(never)
	return schedule{timer: t, due: never, stop: make(chan struct{})}
}

// add puts an event on the agenda. The world's lock is held.
func (s *schedule) add(e *event) {
	if s.closed {
		return
	}
	heap.Push(&s.events, e)
	s.arm()
}

// arm sets the timer for the next event.
func (s *schedule) arm() {
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

// next takes the next event off the agenda if it is due. An event whose instant another
// has taken is put off.
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

// run is the scheduler's goroutine: it is the only one that makes the world's
// events happen, and ends when the schedule is closed.
func (w *world) run() {
	for {
		select {
		case <-w.schedule.timer.C:
		case <-w.schedule.stop:
			return
		}
		// Whatever happened before this instant is over: everybody waits.
		w.gate.Number()
		w.mu.Lock()
		w.schedule.due = 0 // the timer has fired: any next instant is another
		if e := w.schedule.next(now()); e != nil {
			w.happen(e)
		}
		w.schedule.arm()
		w.mu.Unlock()
	}
}

// happen executes one event, within the trial's budget.
func (w *world) happen(e *event) {
	w.events++
	if w.events%interruptEvery == 0 && w.outer.Err() != nil {
		w.abandon(w.outer.Err())
	}
	if w.events > w.budget {
		w.exhausted()
	}
	if e.packet != nil {
		w.busy = e.at
		e.packet.way.arrive(e.packet)
		return
	}
	e.do()
}

// interruptEvery is how many events pass between two looks at whether the
// campaign was interrupted: its context lives outside the bubble.
const interruptEvery = 64

// close ends the scheduler. The world's lock is held.
func (s *schedule) close() {
	if !s.closed {
		s.closed = true
		s.events = nil
		s.timer.Stop()
		close(s.stop)
	}
}
