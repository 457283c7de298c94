package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// Testbed runs trials; it is safe for concurrent use. Trials reuse the nodes of earlier ones.
type Testbed struct {
	mu   sync.Mutex
	idle []*node.Node
}

var _ testbed.Testbed = (*Testbed)(nil)

// New returns the testbed.
func New() *Testbed { return &Testbed{} }

// Name implements testbed.Testbed.
func (*Testbed) Name() string { return "sim" }

// Topologies implements testbed.Testbed.
func (*Testbed) Topologies() []testbed.Topology {
	return []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent}
}

// Capabilities implements testbed.Testbed.
func (*Testbed) Capabilities() []testbed.Capability {
	return []testbed.Capability{
		testbed.CanNetwork, testbed.CanNodes, testbed.CanClocks, testbed.CanClients,
		testbed.CanNodeClocks, testbed.CanMemory, testbed.CanSplitBrain,
	}
}

// Clock implements testbed.Testbed. The clock works only in a trial's bubble.
func (*Testbed) Clock() func() time.Duration { return now }

// RealTime returns false: time is virtual.
func (*Testbed) RealTime() bool { return false }

// WatchesKeys returns true: the testbed records changes of nodes' keys.
func (*Testbed) WatchesKeys() bool { return true }

// Run implements testbed.Testbed. The body's context ends soon after ctx ends, or when the
// trial exceeds its time limit or its budget of events. The error for the time limit is a
// *testbed.Breakdown, unless only the code of crashed clients goes on. The error for the
// budget is the testbed's own, and so is the error if a client has sent a command that nodes
// do not support.
func (t *Testbed) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	s, err := s.Complete()
	if err != nil {
		return fmt.Errorf("sim testbed: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	nodes, err := t.take(s.Nodes)
	if err != nil {
		return fmt.Errorf("sim testbed: make a node: %w", err)
	}
	var limit error
	clean, err := bubble(func() error { return live(ctx, s, nodes, body, &limit) })
	if limit != nil { // the testbed cannot judge the trial, so a deadlock is no finding
		err = limit
	}
	if clean {
		t.giveBack(nodes)
	}
	return err
}

// take returns n empty nodes. Run calls take outside the bubble, where nodes must be created.
func (t *Testbed) take(n int) ([]*node.Node, error) {
	t.mu.Lock()
	have := min(n, len(t.idle))
	nodes := append([]*node.Node(nil), t.idle[len(t.idle)-have:]...)
	t.idle = t.idle[:len(t.idle)-have]
	t.mu.Unlock()
	for len(nodes) < n {
		made, err := node.New()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, made)
	}
	for _, n := range nodes {
		n.Reset()
	}
	return nodes, nil
}

func (t *Testbed) giveBack(nodes []*node.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, nodes...)
}
