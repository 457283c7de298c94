package nemesis

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// closes carries out one action, prepared by world, and returns how its window closed. Keys are read
// slowly. The world's node has the given keys, and the history grants the given tokens.
func closes(t *testing.T, a Action, keys map[string]fakeKey, granted []string, world func(context.Context, *fakeEnv)) history.Window {
	t.Helper()
	a.ID, a.Client, a.By = 1, history.NoClient, time.Second
	ops, err := play(t, Plan{a}, nil, func(ctx context.Context, e *fakeEnv) {
		e.nodes["n0"].keys = keys
		e.meddle = meddling{"keys n0": slow, "keys n1": slow}
		for _, token := range granted {
			op := history.Op{F: history.FAcquire}
			if _, err := e.rec.Invoke(op); err != nil {
				t.Fatal(err)
			}
			op.Type, op.Lease = history.OK, &history.Lease{Token: token}
			if _, err := e.rec.Complete(op); err != nil {
				t.Fatal(err)
			}
		}
		world(ctx, e)
	})
	if err != nil {
		t.Fatal(err)
	}
	return *windows(ops)[1].Window
}

// fated returns the fate f of the key "k" on the node, as the only one expected.
func fated(node string, f history.Fate) []history.KeyFate {
	return []history.KeyFate{{Node: node, Key: "k", Fate: f}}
}

func TestARestartHasHitWhatOutlivedItOnly(t *testing.T) {
	const brief, long = slowness, time.Minute
	for name, c := range map[string]struct {
		had, has map[string]fakeKey
		granted  []string
		hits     int
		fates    []history.KeyFate
		away     time.Duration
	}{
		"a key that is lost":              {map[string]fakeKey{"k": {"t", long}}, nil, nil, 1, fated("n0", history.FateLost), 0},
		"one without an end":              {map[string]fakeKey{"k": {"t", 0}}, nil, nil, 1, fated("n0", history.FateLost), 0},
		"one that is kept":                {map[string]fakeKey{"k": {"t", long}}, map[string]fakeKey{"k": {"t", long}}, nil, 1, fated("n0", history.FateKept), 0},
		"one that was over anyway":        {map[string]fakeKey{"k": {"t", 3 * brief / 2}}, nil, nil, 0, fated("n0", history.FateExpired), 0},
		"one that it was kept away for":   {map[string]fakeKey{"k": {"t", 3 * brief}}, nil, nil, 1, fated("n0", history.FateOutlasted), 4 * brief},
		"one too old for any restart":     {map[string]fakeKey{"k": {"t", 3 * brief / 2}}, nil, nil, 0, fated("n0", history.FateExpired), 4 * brief},
		"one that another has set since":  {nil, map[string]fakeKey{"k": {"anew", long}}, []string{"t"}, 0, nil, 0},
		"one that is back":                {nil, map[string]fakeKey{"k": {"t", long}}, []string{"t"}, 1, fated("n0", history.FateRevived), 0},
		"one whose owner sets it always":  {nil, map[string]fakeKey{"k": {"t", long}}, []string{"t", "t"}, 0, nil, 0},
		"one of many fields that is back": {nil, map[string]fakeKey{"k": {"s=2 t=1", long}}, []string{"t"}, 1, fated("n0", history.FateRevived), 0},
		"one field's value that is back":  {nil, map[string]fakeKey{"k": {"at=t by=s", long}}, []string{"t"}, 1, fated("n0", history.FateRevived), 0},
		"one of a token that has another": {nil, map[string]fakeKey{"k": {"10", long}}, []string{"1"}, 0, nil, 0},
		"a field that has another":        {nil, map[string]fakeKey{"k": {"t1=10", long}}, []string{"1"}, 0, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := closes(t, Action{Fault: "node-restart", Nodes: []string{"n0"}, Away: c.away, For: brief}, c.had, c.granted, func(_ context.Context, e *fakeEnv) { e.kept = c.has })
			if w.Hits != c.hits || !slices.Equal(w.Impact.Keys, c.fates) {
				t.Errorf("got %d hits, %v; want %d, %v", w.Hits, w.Impact.Keys, c.hits, c.fates)
			}
		})
	}
}

func TestAFailoverHasHitWhatOutlivedItOnly(t *testing.T) {
	for name, c := range map[string]struct {
		expires time.Duration
		hits    int
		fates   []history.KeyFate
	}{
		"a key that is lost":       {time.Minute, 1, fated("n1", history.FateLost)},
		"one that was over anyway": {100*time.Millisecond + slowness, 0, fated("n1", history.FateExpired)},
	} {
		t.Run(name, func(t *testing.T) {
			a := Action{Fault: "failover", Nodes: []string{"n1"}, Until: &Trigger{Clients: []int{0}, Step: testbed.StepHold}, Limit: time.Second}
			w := closes(t, a, map[string]fakeKey{}, nil, func(ctx context.Context, e *fakeEnv) {
				go func() {
					time.Sleep(time.Millisecond) // by then replication is held back
					e.mu.Lock()
					e.nodes["n0"].keys["k"] = fakeKey{"t", c.expires}
					e.mu.Unlock()
					_ = e.clients[0].Step(ctx, testbed.StepHold)
				}()
			})
			if w.Hits != c.hits || !slices.Equal(w.Impact.Keys, c.fates) {
				t.Errorf("got %d hits, %v; want %d, %v", w.Hits, w.Impact.Keys, c.hits, c.fates)
			}
		})
	}
}
