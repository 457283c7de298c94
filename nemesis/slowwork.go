package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// slowWork lets a holder work for longer than its lease. Unlike in client-pause, the client is
// alive: its timers run, its watchdog renews, and it can learn that its lease is lost. The proof
// is that the client reached the prolonged work, and that the fault lasted as planned.
var slowWork = Fault{
	Name:       "slow-work",
	Doc:        "a holder works for longer than its lease; it is alive, and its timers and renewals run",
	Color:      "#cddc39",
	Needs:      []testbed.Capability{testbed.CanClients},
	Topologies: sameTopology,
	Plans:      drawnSlowWork,
	schedules:  namedSlowWork,
	freezes:    true,
	effect:     history.Slowed,
	aim:        aimAtClient,
	inject: func(_ context.Context, s *injection) (heal, error) {
		undo, err := s.env.(testbed.Clients).SlowWork(s.client)
		if err != nil {
			return nil, fmt.Errorf("slow down the work of %s: %w", clientName(s.client), err)
		}
		return func(ctx context.Context) (result, error) {
			r := result{impact: s.lasted()}
			planned := s.env.Now()-s.from >= s.action.length()
			works, err := undo(ctx)
			if planned {
				r.hits = min(works, 1)
			}
			return r, err
		}, nil
	},
}

// overrunLengths lists lengths of slow work, each longer than the lease.
func (w World) overrunLengths() []struct {
	label, words string
	lasts        time.Duration
} {
	lease := w.lease()
	return []struct {
		label, words string
		lasts        time.Duration
	}{
		{"little", "a little longer than its lease", lease + lease/5},
		{"twice", "twice as long as its lease", 2*lease + lease/5},
		{"five", "five times as long as its lease", 5*lease + lease/5},
	}
}

func drawnSlowWork(w World, r *rand.Rand) []Plan {
	d := w.draw()
	for _, o := range w.overrunLengths() {
		d.add(believing, "works "+o.words, func(m *move) {
			m.Nodes, m.For, m.gap = nil, o.lasts, w.TTL/10
		})
	}
	return d.plans(3, r)
}

// namedSlowWork slows down one client, or two, in each step in which the client believes
// that it holds the lock.
func namedSlowWork(w World) []Schedule {
	e := w.enumerate()
	for _, s := range believing {
		for _, o := range w.overrunLengths() {
			for _, l := range w.oneAndTwoStruck() {
				e.add(l, s, o.label, "works "+o.words, func(a *Action) { a.Nodes, a.For = nil, o.lasts })
			}
		}
	}
	return e.all
}
