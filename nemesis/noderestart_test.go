package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestNodesThatMayHaveLostSomethingStayAwayIfTheRecipeAsksForIt(t *testing.T) {
	for _, away := range []time.Duration{0, testTTL} {
		w := worldOf(setNXPX, testbed.Independent)
		w.Claims.Away, w.Duration = away, 20*testTTL
		var plans []Plan
		for k := range 20 {
			for _, fault := range []string{"node-restart", "chaos"} {
				p, err := New(uint64(k), []string{fault}, w, k)
				if err != nil {
					t.Fatal(err)
				}
				plans = append(plans, p)
			}
		}
		schedules, err := Named("node-restart", w)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range schedules {
			plans = append(plans, s.Plan)
		}
		lossy, others := 0, 0
		for _, p := range plans {
			for _, a := range p {
				want := time.Duration(0)
				switch a.Durability {
				case testbed.Volatile, testbed.EverySec:
					want, lossy = away, lossy+1
				case testbed.Always:
					others++
				}
				if a.Away != want || a.length() < want {
					t.Fatalf("a node that keeps %q stays away for %v of %v, want %v", a.Durability, a.Away, a.length(), want)
				}
			}
		}
		if lossy == 0 || others == 0 {
			t.Errorf("%d restarts that lose something and %d others, want some of each", lossy, others)
		}
	}
}

func TestANodeIsDownForAsLongAsItStaysAway(t *testing.T) {
	for _, test := range []struct{ length, away, want time.Duration }{
		{0, 0, 0}, {0, testTTL, testTTL}, {2 * testTTL, testTTL, 2 * testTTL}, {testTTL / 2, testTTL, testTTL}, {testTTL, 0, testTTL},
		{0, 30 * time.Second, 30 * time.Second}, // longer than a heal may last
	} {
		ops, err := play(t, Plan{{
			ID: 1, Fault: "node-restart", Idea: "restart", Client: history.NoClient, Nodes: fiveNodes[:1],
			By: time.Second, For: test.length, Away: test.away,
		}}, fiveNodes, nil)
		if err != nil {
			t.Fatal(err)
		}
		var down, up time.Duration
		for _, op := range ops {
			switch op.F {
			case history.FNodeDown:
				down = op.Time
			case history.FNodeUp:
				up = op.Time
			}
		}
		if got := (up - down).Round(time.Millisecond); got != test.want {
			t.Errorf("for %v and away %v: down for %v, want %v", test.length, test.away, got, test.want)
		}
	}
}

// The node stops executing commands but does not die.
func TestANodeThatDoesNotDieIsAwaitedForAsLongAsAHealMayLast(t *testing.T) {
	p := Plan{{ID: 1, Fault: "node-restart", Idea: "restart", Client: history.NoClient, Nodes: []string{"n0"}, By: time.Second}}
	ops, err := play(t, p, nil, func(_ context.Context, e *fakeEnv) {
		e.meddle = meddling{"kill n0": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
	})
	if w := windows(ops)[1]; w.Time > 2*healing || w.Error == "" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run = %v, the window closed at %v with error %q", err, w.Time, w.Error)
	}
}

func TestARestartInTheRingLeavesTimeToStayAway(t *testing.T) {
	w := worldOf(setNXPX, testbed.Independent)
	w.Claims.Away = testTTL
	w.Duration = 10 * testTTL
	p, ok := w.cutAndRestart(testbed.Volatile, rand.New(rand.NewPCG(1, 1)))
	if !ok {
		t.Fatal("no plan")
	}
	for _, a := range p[1:] {
		if a.By+a.length() > w.Duration {
			t.Errorf("it may last until %v, the trial until %v", a.By+a.length(), w.Duration)
		}
	}
}

func TestARestartInAClusterNeedsKeysThatOutliveIt(t *testing.T) {
	for life, possible := range map[time.Duration]bool{0: true, time.Second: false, 2 * time.Second: false, 3 * time.Second: true} {
		for _, topology := range []testbed.Topology{testbed.Single, testbed.Cluster} {
			w := World{Topology: topology, Sight: Sight{KeyLife: life}}
			want := possible || topology == testbed.Single
			if why := nodeRestart.Impossible(w); (why == nil) != want {
				t.Errorf("%s, keys that live %v: got %q, possible want %t", topology, life, why.Words(), want)
			}
		}
	}
}
