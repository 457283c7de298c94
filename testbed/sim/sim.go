// Package sim runs trials in a deterministic simulation: no Redis, no network,
// no waiting.
//
// A trial's body, its recipe and its Redis client run unmodified in a bubble of
// testing/synctest, whose clock moves on when everybody waits. Connections are
// in memory; what they carry arrives by virtual time, one packet at an instant,
// after latencies that are a hash of the seed and of what the packet is. Redis
// nodes are miniredis, driven by the one goroutine that makes packets arrive. So
// a trial is a pure function of its setup and body: the same history and the
// same commands on any machine.
//
// What is not covered: one bubble has one clock, so skew reaches only code that
// takes its clock from locks.Client; the connections and steps of a paused
// client stand still, its own timers do not.
package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// Testbed runs trials, several at once if asked. It keeps nodes for use in later
// trials.
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

// Clock implements testbed.Testbed: the clock of the bubble in which it is read.
func (*Testbed) Clock() func() time.Duration { return now }

// RealTime says that time is not the machine's.
func (*Testbed) RealTime() bool { return false }

// WatchesKeys says that changes of nodes' keys are seen.
func (*Testbed) WatchesKeys() bool { return true }

// Run implements testbed.Testbed. The body's context ends when ctx does, seen
// from time to time, and when the trial has used up its time: then the error is a
// *testbed.Breakdown. It ends too when more happened than a trial may cost, or
// when a node was asked for what it cannot do; these are the testbed's own errors.
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
	clean, err := bubble(func() error { return live(ctx, s, nodes, body) })
	if clean {
		t.giveBack(nodes)
	}
	return err
}

// take returns n nodes as new. They are made outside of bubbles.
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
