package nemesis

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// worldOf is a campaign's default world for a recipe, with the points that a
// probe of it shows.
func worldOf(t *testing.T, recipe fakeRecipe, topology testbed.Topology) World {
	w := World{
		Clients: 3, Nodes: []string{"n0"}, Topology: topology,
		TTL: testTTL, Hold: testTTL / 10, Retry: testTTL / 40, Duration: 5 * testTTL,
		CommandTimeout: testTTL / 2, Claims: recipe.claims, KeyLife: recipe.keyLife, Capabilities: everything,
	}
	if topology == testbed.Independent {
		w.Nodes = fiveNodes
	}
	w.Claims.TTL = testTTL
	w.Claims.Quorum = max(1, w.Claims.Quorum)
	w.Points = probe(t, w, recipe)
	return w
}

// probe is a fault-free trial: every point that a client passes in it.
func probe(t *testing.T, w World, recipe fakeRecipe) []testbed.Point {
	var cmds []history.Command
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEnv(t, w.Clients, w.Nodes...)
		for i := range e.clients {
			for _, step := range []string{testbed.StepAcquire, testbed.StepRelease} {
				for _, node := range w.Nodes {
					for n := range 4 {
						p := testbed.Point{Client: i, Step: step, Node: node, N: n + 1, When: testbed.Replied}
						e.At(p, func(h testbed.Hit) {
							e.mu.Lock()
							defer e.mu.Unlock()
							cmds = append(cmds, history.Command{
								Client: i, Node: node, Phase: step, N: h.Command.N, Args: h.Command.Args, Replied: h.Time,
							})
						})
					}
				}
			}
		}
		b := &belief{env: e, holds: map[int]bool{}}
		ctx := t.Context()
		for _, c := range e.clients {
			go func() { _ = c.live(ctx, w, recipe, b) }()
		}
		time.Sleep(w.Duration)
		for i := range e.clients {
			_ = e.CrashClient(i)
		}
		time.Sleep(time.Second)
	})
	return Points(cmds)
}

// Of the four trials that a cell has by default, at least one must show the flaw that the
// plans are made for.
func TestPlansFindWhatTheyAreMadeFor(t *testing.T) {
	two := func(tr trial) bool { return tr.together >= 2 }
	blocked := func(tr trial) bool { return tr.idle > 2*testTTL }
	tests := []struct {
		name, recipe, fault string
		topology            testbed.Topology
		shows               func(trial) bool
	}{
		{"pause between EXISTS and SET lets two in", "exists-set", "client-pause", testbed.Single, two},
		{"crash of a holder without a TTL blocks for ever", "setnx", "client-crash", testbed.Single, blocked},
		{"lost reply of a grant without a TTL blocks for ever", "setnx", "lost-reply", testbed.Single, blocked},
		{"reset on the way of a grant without a TTL blocks for ever", "setnx", "reset", testbed.Single, blocked},
		{"pause before a bare DEL lets two in", "set-nx-ex", "client-pause", testbed.Single, two},
		{"late DEL lets two in without any overrun", "set-nx-ex", "delay", testbed.Single, two},
		{"pause between GET and DEL lets two in", "get-del", "client-pause", testbed.Single, two},
		{"two rivals take over a dead client's lock", "takeover", "client-crash", testbed.Single, two},
		{"a clock ahead takes over a living lock", "takeover", "client-skew", testbed.Single, two},
		{"pause past the lease lets two in", "set-nx-px", "client-pause", testbed.Single, two},
		{"failover forgets a grant", "set-nx-px", "failover", testbed.Replicated, two},
		{"volatile restart forgets a grant", "set-nx-px", "node-restart", testbed.Single, two},
		{"a node's clock ahead ends a living lock", "set-nx-px", "node-clock", testbed.Single, two},
		{"clocks of a majority ahead end a living lock", "redlock", "node-clock", testbed.Independent, two},
		{"eviction forgets a grant", "set-nx-px", "eviction", testbed.Single, two},
		{"eviction on a majority forgets a grant", "redlock", "eviction", testbed.Independent, two},
		{"two primaries grant one lock twice", "set-nx-px", "split-brain", testbed.Replicated, two},
		{"a mix finds what one fault finds", "set-nx-ex", "chaos", testbed.Replicated, two},
		{"volatile restart of one of exactly a quorum forgets a grant", "redlock", "node-restart", testbed.Independent, two},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			recipe := fakeRecipes[test.recipe]
			w := worldOf(t, recipe, test.topology)
			found := false
			for k := range 12 {
				p, err := New(uint64(k), []string{test.fault}, w, k)
				if err != nil {
					t.Fatalf("New = %v, want a plan", err)
				}
				tr := runTrial(t, w, recipe, p)
				if test.shows(tr) {
					found = true
					if Hits(tr.ops, test.fault) == 0 {
						t.Errorf("trial %d shows it but its fault has no hits", k)
					}
				}
				if testing.Verbose() {
					t.Logf("trial %d: %d together, idle %v, %v", k, tr.together, tr.idle, tr.faults)
					for _, op := range tr.ops {
						if op.Window != nil && op.Type == history.Info {
							t.Logf("  %v %s: %d hits, %s (%s)", op.Time, op.Window.Fault, op.Window.Hits, asJSON(op.Window.Impact), asJSON(op.Window.Planned))
						}
					}
				}
			}
			if !found {
				t.Errorf("none of the first twelve trials shows it")
			}
		})
	}
}

func TestCalmRecipeHoldsInTheFakeWorld(t *testing.T) {
	for _, name := range []string{"set-nx-px", "takeover", "redlock"} {
		topology := testbed.Single
		if name == "redlock" {
			topology = testbed.Independent
		}
		w := worldOf(t, fakeRecipes[name], topology)
		tr := runTrial(t, w, fakeRecipes[name], Plan{})
		if tr.together != 1 || tr.idle > testTTL || len(tr.faults) > 0 {
			t.Errorf("%s: %d together, idle %v, faults %v; want one holder at a time and no faults",
				name, tr.together, tr.idle, tr.faults)
		}
		if steps := stepsOf(w.Points); !slices.Equal(steps, []string{testbed.StepAcquire, testbed.StepRelease}) {
			t.Errorf("%s: points of steps %v, want acquire and release", name, steps)
		}
	}
}

func stepsOf(points []testbed.Point) []string {
	var steps []string
	for _, p := range points {
		if !slices.Contains(steps, p.Step) {
			steps = append(steps, p.Step)
		}
	}
	return steps
}
