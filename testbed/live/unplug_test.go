package live

import (
	"errors"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// plugged is a stub server that a test can unplug from its network and plug in again.
type plugged struct {
	*stub
	off bool
}

func (p *plugged) Unplug() error { p.off = true; return nil }
func (p *plugged) Plug() error   { p.off = false; return nil }

// TestANodeIsPluggedInAgainWhateverBecameOfItsServer checks that the undo plugs in the node's
// present server, even if that server was started while the node was unplugged.
func TestANodeIsPluggedInAgainWhateverBecameOfItsServer(t *testing.T) {
	kill := func(t *testing.T, n *node) {
		if err := n.kill(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, meanwhile := range map[string]func(*testing.T, *node, slowPlace) *plugged{
		"nothing": func(*testing.T, *node, slowPlace) *plugged { return nil },
		"killed":  func(t *testing.T, n *node, _ slowPlace) *plugged { kill(t, n); return nil },
		"killed, and back": func(t *testing.T, n *node, place slowPlace) *plugged {
			kill(t, n)
			next := &plugged{newStub("there:1"), true}
			startAs(t, n, place, next)
			return next
		},
	} {
		t.Run(name, func(t *testing.T) {
			place := slowPlace{start: make(chan Server, 1)}
			n := newStubNode(t, place)
			s := &plugged{stub: newStub("there:1")}
			startAs(t, n, place, s)
			undo, err := ownEnv{&env{nodes: []*node{n}}}.Unplug(t.Context(), "n0")
			if err != nil || !s.off {
				t.Fatalf("unplugged: %t, %v", s.off, err)
			}
			if next := meanwhile(t, n, place); next != nil {
				s = next
			}
			if _, err := undo(t.Context()); err != nil || s.off {
				t.Errorf("after the undo unplugged: %t, %v", s.off, err)
			}
			if err := n.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnUnpluggedMasterExplainsElections(t *testing.T) {
	place := slowPlace{start: make(chan Server, 2)}
	n, fixed := newStubNode(t, place), newStubNode(t, place)
	fixed.name = "n1"
	startAs(t, n, place, &plugged{stub: newStub("there:1")})
	startAs(t, fixed, place, newStub("there:2"))
	e := &env{nodes: []*node{n, fixed}}
	e.cluster = &cluster{
		env: e, elections: elections{provocation: &provocation{grace: time.Hour}}, pauses: map[*node]int{},
		shards: []*shard{{nodes: e.nodes, master: n}},
	}
	world := clusterEnv{ownEnv{e}, e.cluster}
	var unplugger testbed.Unplugger = world
	if _, err := unplugger.Unplug(t.Context(), "n1"); !errors.Is(err, errors.ErrUnsupported) || world.faults > 0 || world.frozen(fixed) {
		t.Errorf("of a node without a network: got %v, %d faults in force", err, world.faults)
	}
	undo, err := unplugger.Unplug(t.Context(), "n0")
	if err != nil {
		t.Fatal(err)
	}
	if !world.explains() || !world.frozen(n) {
		t.Errorf("while it is unplugged: explained %t, cannot be asked %t, want both", world.explains(), world.frozen(n))
	}
	if _, err := undo(t.Context()); err != nil {
		t.Error(err)
	}
	if world.faults > 0 || !world.explains() || world.frozen(n) {
		t.Errorf("after it: %d faults in force, explained %t, cannot be asked %t", world.faults, world.explains(), world.frozen(n))
	}
	for _, one := range e.nodes {
		if err := one.close(); err != nil {
			t.Error(err)
		}
	}
}
