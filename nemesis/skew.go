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

// clientSkew sets one client's wall clock wrong while others contend with it.
// That it asked for the lock, or held it, with the wrong clock is the proof, also
// for recipes that take no clock: there it shows that nothing comes of it.
var clientSkew = Fault{
	Name:       "client-skew",
	Doc:        "one client's wall clock is off by a little, by more than a lease, by minutes",
	Color:      "#afb42b",
	Needs:      []testbed.Capability{testbed.CanClocks},
	Topologies: sameTopology,
	Plans:      skewPlans,
	named:      namedSkews,
	effect:     history.ClockSet,
	aim:        aimAtClient,
	inject:     injectSkew,
}

func injectSkew(_ context.Context, s *strike) (heal, error) {
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
		i.Offset, i.Attempts, i.Holding = moved, count(), slices.Contains(holding, s.hit.Point.Step)
		err := s.event(history.Op{Client: s.client, F: history.FClock})
		clocks.Skew(s.client, 0)
		if moved.Abs() < s.action.Offset.Abs()/2 {
			i.Attempts, i.Holding = 0, false // the clock that clients are handed did not follow
		}
		hits := i.Attempts
		if i.Holding {
			hits++
		}
		return result{hits, i}, err
	}, nil
}

// holding are the steps in which a client has the lock, or believes so.
var holding = []string{testbed.StepHold, testbed.StepRead, testbed.StepTouch}

// countAttempts counts the acquires that the struck client begins until the
// returned function is called.
func countAttempts(s *strike) (stop func() int) {
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

func skewPlans(w World, r *rand.Rand) []Plan {
	far := w.far()
	var plans []Plan
	for _, offset := range []time.Duration{far, 5 * time.Minute, w.TTL / 10} {
		plans = append(plans, w.pack([]move{w.skew(offset, 1), w.skew(-offset, 2)}, 2, r)...)
	}
	// A step of the clock within an acquire, for those who measure time by it.
	var moves []move
	for _, p := range w.last(testbed.StepAcquire) {
		for _, offset := range []time.Duration{far, -far} {
			a := w.action("client-skew", "the clock is set in the middle of an acquire", p, testbed.Before)
			a.Nodes, a.Offset, a.For = nil, offset, w.TTL
			moves = append(moves, move{Action: a, gap: w.TTL / 5})
		}
	}
	return append(plans, w.pack(moves, 2, r)...)
}

// far is past every life that a recipe may give a lock by somebody's clock.
func (w World) far() time.Duration { return max(w.TTL+w.TTL/2+time.Second, w.lease()+w.TTL) }

// skew sets the clock of a client wrong for as long as several turns take.
func (w World) skew(offset time.Duration, client int) move {
	idea := "a client whose clock is ahead contends"
	if offset < 0 {
		idea = "a client whose clock is behind contends"
	}
	return move{
		Action: Action{
			Fault: "client-skew", Idea: idea, Client: client % w.Clients,
			Offset: offset, For: w.TTL + w.TTL/2,
		},
		gap: w.TTL / 5,
	}
}
