package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// hungWork hangs the work of a holder: the client waits for ever for something else, and never
// releases. Unlike in client-crash, the client's process and its watchdog live on (document D3: if
// the work blocks for ever, the lock is kept). The proof is that the client reached the work that
// hangs.
var hungWork = Fault{
	Name:       "hung-work",
	Doc:        "a holder never comes back from its work; its process and its watchdog live on",
	Color:      "#6d4c41",
	Needs:      []testbed.Capability{testbed.CanClients},
	Topologies: sameTopology,
	Plans:      drawnHungWork,
	schedules:  namedHungWork,
	deadly:     true,
	freezes:    true,
	effect:     history.Hung,
	aim:        aimAtClient,
	inject: func(_ context.Context, s *injection) (heal, error) {
		undo, err := s.env.(testbed.Clients).HangWork(s.client, func() error {
			return s.event(history.Op{Client: s.client, Type: history.Info, F: history.FHung})
		})
		if err != nil {
			return nil, fmt.Errorf("hang the work of %s: %w", clientName(s.client), err)
		}
		return func(ctx context.Context) (result, error) {
			r := result{impact: s.lasted()}
			var err error
			r.hits, err = undo(ctx)
			return r, err
		}, nil
	},
}

// whileHung returns how long the other clients wait for a hung client before the liveness phase. By
// then a watchdog that ends after four renewals, as that of recipe set-nx-ex-bounded-renewal does,
// no longer keeps the lease alive.
func (w World) whileHung() time.Duration { return w.lease() + 5*w.TTL }

func drawnHungWork(w World, r *rand.Rand) []Plan {
	d := w.draw()
	d.add(believing, "hangs in its work", func(m *move) { m.Nodes, m.For = nil, max(w.outlast(), w.Duration-w.lease()) })
	// One client must survive to show whether the lock can be acquired again.
	return d.plans(min(2, w.Clients-1), r)
}

// namedHungWork returns two schedules for each step in which a client believes that it holds the
// lock: one hangs a single client there, the other hangs two clients in succession.
func namedHungWork(w World) []Schedule {
	e := w.enumerate()
	for _, s := range believing {
		for _, l := range w.oneAndTwoStruck() {
			e.add(l, s, "", "hangs in its work", func(a *Action) { a.Nodes, a.For = nil, w.whileHung() })
		}
	}
	return e.all
}
