package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestAMigrationIsProvedByTheKeysThatMoved(t *testing.T) {
	for name, c := range map[string]struct {
		held   bool
		hits   int
		events int
	}{
		"a lock that is held": {true, 1, 1},
		"no lock":             {false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := Plan{{ID: 1, Fault: "slot-migration", Nodes: []string{"n0", "n1"}, Client: history.NoClient, By: time.Second, For: time.Second}}
			ops, err := play(t, p, p[0].Nodes, func(_ context.Context, e *fakeEnv) {
				if c.held {
					e.nodes["n0"].keys["lock-0"] = fakeKey{value: "t1"}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := Hits(ops); got != c.hits {
				t.Errorf("hits = %d, want %d", got, c.hits)
			}
			events := 0
			for _, op := range ops {
				if op.F != history.FMigrate {
					continue
				}
				events++
				if op.From != "n0" || op.Node != "n1" || len(op.Keys) != 1 || op.Keys[0].Key != "lock-0" {
					t.Errorf("got %+v, want lock-0 from n0 to n1", op)
				}
			}
			if events != c.events {
				t.Errorf("%d migrations recorded, want %d", events, c.events)
			}
		})
	}
}

func TestSlotsMoveOnceInATrial(t *testing.T) {
	w := worldOf(setNXPX, testbed.Cluster)
	for k := range 4 {
		p, err := New(1, []string{"slot-migration"}, w, k)
		if err != nil || len(p) != 1 || p[0].For <= 0 {
			t.Errorf("trial %d: plan %v, %v", k, p, err)
		}
	}
}
