package nemesis

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// clientSkew sets one client's wall clock wrong while other clients contend with it. The proof is
// that the struck client requested or held the lock with the wrong clock. Such requests count even
// if the recipe reads no clock: they show that a wrong clock does no harm.
var clientSkew = Fault{
	Name:       "client-skew",
	Doc:        "one client's wall clock is off by a little, by more than a lease, by minutes",
	Color:      "#afb42b",
	Needs:      []testbed.Capability{testbed.CanClocks},
	Topologies: sameTopology,
	Plans:      drawnSkews,
	schedules:  namedSkews,
	sweep:      skewed,
	effect:     history.ClockSet,
	aim:        aimAtClient,
	inject:     injectSkew,
}

func injectSkew(_ context.Context, s *injection) (heal, error) {
	clocks, wall := s.env.(testbed.Clocks), s.env.Client(s.client).Locks().Now
	if err := s.event(history.Op{Client: s.client, F: history.FClock, Offset: s.action.Offset}); err != nil {
		return nil, err
	}
	before := time.Until(wall())
	clocks.Skew(s.client, s.action.Offset)
	moved := (time.Until(wall()) - before).Round(time.Millisecond)
	count := countAttempts(s)
	return func(context.Context) (result, error) {
		i := s.lasted()
		i.Offset, i.Attempts, i.Holding = moved, count(), slices.Contains(protocol[1:4], s.hit.Point.Step)
		err := s.event(history.Op{Client: s.client, F: history.FClock})
		clocks.Skew(s.client, 0)
		if moved.Abs() < s.action.Offset.Abs()/2 {
			i.Attempts, i.Holding = 0, false // the client's clock did not move
		}
		hits := i.Attempts
		if i.Holding {
			hits++
		}
		return result{hits, i}, err
	}, nil
}

// countAttempts counts the acquires that the struck client begins until the
// returned function is called.
func countAttempts(s *injection) (stop func() int) {
	begun, quit := make(chan struct{}, 1), make(chan struct{})
	attempts := 0
	var counting sync.WaitGroup
	counting.Go(func() {
		for {
			w := await(s.env, Trigger{Clients: []int{s.client}, Step: testbed.StepAcquire}, history.NoClient, s.action.ID,
				func(testbed.Hit) { begun <- struct{}{} })
			select {
			case <-begun:
				attempts++
				w.stop()
			case <-quit:
				w.stop()
				return
			}
		}
	})
	return func() int {
		close(quit)
		counting.Wait()
		return attempts
	}
}

func drawnSkews(w World, r *rand.Rand) []Plan {
	far := w.far()
	var plans []Plan
	for _, offset := range []time.Duration{far, 5 * time.Minute, w.TTL / 10} {
		plans = append(plans, w.pack([]move{w.skew(offset, 1), w.skew(-offset, 2)}, 2, r)...)
	}
	// The clock jumps during an acquire. Some recipes measure the length of the acquire by this
	// clock.
	d := w.draw()
	for _, s := range w.lastCommand(testbed.Before, testbed.StepAcquire) {
		for _, offset := range []time.Duration{far, -far} {
			d.add([]spot{s}, "the clock is set in the middle of an acquire", func(m *move) {
				m.Nodes, m.Offset, m.For, m.gap = nil, offset, w.TTL, w.TTL/5
			})
		}
	}
	return append(plans, d.plans(2, r)...)
}

// skew returns a move that sets a client's clock wrong while clients get the lock several times.
func (w World) skew(offset time.Duration, client int) move {
	idea := "a client whose clock is ahead contends"
	if offset < 0 {
		idea = "a client whose clock is behind contends"
	}
	return move{
		Action: Action{Idea: idea, Client: client % w.Clients, Offset: offset, For: w.severalTurns()},
		gap:    w.TTL / 5,
	}
}

// severalTurns is usually enough time for several clients to get the lock in turn.
func (w World) severalTurns() time.Duration { return w.TTL + w.TTL/2 }

// namedSkews sets a client's clock ahead and behind. At the beginning of an acquire, and of each
// step in which the client believes that it holds the lock, the offset is either small or longer
// than any life of the lock. Before each command, when the client may have read its clock already,
// the offset is longer than any life.
func namedSkews(w World) []Schedule {
	e, far := w.enumerate(), w.far()
	set := func(offset time.Duration) func(*Action) {
		return func(a *Action) { a.Nodes, a.Offset, a.For = nil, offset, w.severalTurns() }
	}
	ways := []struct {
		name   string
		offset time.Duration
	}{{"forward", far}, {"back", -far}, {"ahead", w.TTL / 10}, {"behind", -w.TTL / 10}}
	for _, s := range slices.Concat(begins(testbed.StepAcquire), w.boundaries(testbed.Before), believing) {
		for i, way := range ways {
			if i >= 2 && s.n > 0 {
				continue // a small offset has the same effect at a command as at the beginning of its step
			}
			lineups := []lineup{w.one()}
			if s.n == 0 && i < 2 {
				lineups = w.oneAndTwoStruck()
			}
			for _, l := range lineups {
				e.add(l, s, way.name, "its clock is set "+way.name, set(way.offset))
			}
		}
	}
	e.rivals(beginning(testbed.StepAcquire), "back", "its clock is set back, with two rivals waiting", set(-far))
	e.slowClocks()
	return e.all
}

// slowClocks slows a client down and sets its clock back at the same spot. The client
// checks its deadline too late, and the clock hides that. slowClocks adds no schedule if
// leases have no deadline.
func (e *enumeration) slowClocks() {
	if !e.Deadlines {
		return
	}
	l := e.one()
	who := l.struck[0][:1]
	for _, s := range slices.Concat(e.boundaries(testbed.Before, testbed.StepAcquire), e.granted(), believing) {
		slow := e.slow(s, who, l)
		slow.For, slow.Until, slow.Limit = e.TTL, l.others(testbed.StepTouch), e.outlast()
		back := e.at(s, "its clock is set back while it is slow", who, l)
		back.Nodes, back.Offset, back.For = nil, -e.far(), e.outlast()+e.TTL
		e.plan(l, scheduleName(s, "back.slow"), back, slow)
	}
}
