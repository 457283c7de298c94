package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// story writes each entry of the nemesis in a history in a few words, such as "open n0" or
// "close 1" for a window.
func story(ops []history.Op) []string {
	var all []string
	for _, op := range ops {
		s := op.F
		switch {
		case op.Window != nil && op.Type == history.Invoke:
			s = "open " + op.Window.Target()
		case op.Window != nil:
			s = fmt.Sprintf("close %d", op.Window.Hits)
		case op.Client != history.NoClient:
			s += " " + clientName(op.Client)
		}
		if op.Window == nil {
			s += " " + op.Node
		}
		if op.Offset != 0 && op.Window == nil {
			s += " " + op.Offset.String()
		}
		for _, k := range op.Keys {
			s += " " + k.Key
		}
		all = append(all, s)
	}
	return all
}

func TestFaultsOfNodesTellWhatTheyDidInOrder(t *testing.T) {
	tests := []struct {
		name  string
		world []string
		act   Action
		want  []string
		did   []string // faults done to the world

		meddle meddling
		err    error
	}{
		{
			"a clock is off from its first event to its second, and both jumps count", []string{"n0"},
			Action{Fault: "node-clock", Nodes: []string{"n0"}, Offset: time.Minute, For: time.Second},
			[]string{"open n0", "node-clock n0 1m0s", "node-clock n0", "close 2"},
			[]string{"skew n0 1m0s", "skew n0 0s"}, nil, nil,
		},
		{
			"clocks of several nodes jump one after another", fiveNodes,
			Action{Fault: "node-clock", Nodes: []string{"n0", "n2"}, Offset: -time.Second, For: time.Second},
			[]string{"open n0 n2", "node-clock n0 -1s", "node-clock n2 -1s", "node-clock n0", "node-clock n2", "close 4"},
			[]string{"skew n0 -1s", "skew n2 -1s", "skew n0 0s", "skew n2 0s"}, nil, nil,
		},
		{
			"clocks are set right when one cannot be set", fiveNodes,
			Action{Fault: "node-clock", Nodes: fiveNodes[:3], Offset: time.Hour, For: time.Second},
			[]string{"open n0 n1 n2", "node-clock n0 1h0m0s", "node-clock n1 1h0m0s", "node-clock n0", "node-clock n1", "close 0"},
			[]string{"skew n0 1h0m0s", "skew n1 1h0m0s", "skew n2 1h0m0s", "skew n0 0s", "skew n1 0s"},
			meddling{"skew n2 1h0m0s": lame}, errLame,
		},
		{
			"an eviction names what went", fiveNodes,
			Action{Fault: "eviction", Nodes: []string{"n1", "n3"}},
			[]string{"open n1 n3", "evict n1 k", "evict n3 k", "close 2"},
			[]string{"evict n1", "evict n3"}, nil, nil,
		},
		{
			"a split names each that is moved, and its end", []string{"n0"},
			Action{Fault: "split-brain", Nodes: []string{"n1"}, Client: 1, Others: []int{0, 1, 2}, For: time.Second},
			[]string{"open c0 c2 n1", "split c0 n1", "split c2 n1", "promote n1", "close 0"},
			[]string{"split n1", "unite n1"}, nil, nil,
		},
		{
			"one may be moved alone", []string{"n0"},
			Action{Fault: "split-brain", Nodes: []string{"n1"}, Client: 2, For: time.Second},
			[]string{"open c2 n1", "split c2 n1", "promote n1", "close 0"},
			[]string{"split n1", "unite n1"}, nil, nil,
		},
	}
	for _, test := range tests {
		var world *fakeEnv
		if test.act.Client == 0 {
			test.act.Client = history.NoClient
		}
		test.act.ID, test.act.By = 1, time.Second
		ops, err := play(t, Plan{test.act}, test.world, func(_ context.Context, e *fakeEnv) {
			world = e
			for _, n := range e.nodes {
				n.keys["k"] = fakeKey{value: "t", expires: time.Hour}
			}
			e.meddle = test.meddle
		})
		if !errors.Is(err, test.err) {
			t.Errorf("%s: Run = %v, want %v", test.name, err, test.err)
		}
		if got := story(ops); !slices.Equal(got, test.want) {
			t.Errorf("%s: history %q, want %q", test.name, got, test.want)
		}
		if !slices.Equal(world.faults, test.did) {
			t.Errorf("%s: done %q, want %q", test.name, world.faults, test.did)
		}
	}
}

func TestFaultsFollowClientsToANewPrimary(t *testing.T) {
	ops, err := play(t, Plan{
		{ID: 1, Fault: "split-brain", Nodes: []string{"n1"}, Client: 0, By: time.Second, For: time.Second},
		{ID: 2, Fault: "partition", After: 1, Nodes: []string{"n0"}, Client: 0, Direction: testbed.Both, By: time.Hour, For: time.Second},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := windows(ops)[2].Window.Target(); got != "c0↔n1" {
		t.Errorf("the partition struck %s, want c0↔n1", got)
	}
}

func TestSupportedAndCapableTellWhatIsMissing(t *testing.T) {
	whole := newFakeEnv()
	if got := testbed.CapabilitiesOf(whole); !slices.Equal(got, everything) {
		t.Errorf("capabilities of a whole world = %v, want %v", got, everything)
	}
	for _, f := range All() {
		if err := Capable(f, whole); err != nil {
			t.Errorf("%s in a world that can do all: %v", f.Name, err)
		}
		lacking := bare{whole}
		topologies := []testbed.Topology{testbed.Single, testbed.Replicated}
		_, before := Supported(f, locks.Single, topologies, nil)
		running := Capable(f, lacking)
		if wants := len(f.Needs) > 0; (before != nil) != wants || errors.Is(running, ErrNotSupported) != wants {
			t.Errorf("%s, which needs %v, where nothing can be done: planned %v, running %v", f.Name, f.Needs, before, running)
		}
	}
}
