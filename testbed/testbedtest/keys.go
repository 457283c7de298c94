package testbedtest

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// Chain is the key changes that an environment reported. Whatever changed a key, the state before
// each change must be the state after the previous change of the same key on the same node.
type Chain []history.KeyChange

// add implements Setup.Keys.
func (c *Chain) add(k history.KeyChange) { *c = append(*c, k) }

// Check checks that, the indices, and that no change is a stranger's.
func (c Chain) Check(t testing.TB) {
	t.Helper()
	type place struct {
		node string
		key  history.Bytes
	}
	left := map[place]*history.KeyContent{}
	for i, k := range c {
		at := place{k.Node, k.Key}
		switch {
		case k.Index != i:
			t.Errorf("change %d of keys has the index %d", i, k.Index)
		case !left[at].Same(k.Before):
			t.Errorf("change %d by %s, of %s on %s, found %+v; left was %+v", i, k.By, k.Key, k.Node, k.Before, left[at])
		case k.Before.Same(k.After):
			t.Errorf("change %d by %s, of %s on %s, changed nothing", i, k.By, k.Key, k.Node)
		case k.From > k.To || k.To == 0:
			t.Errorf("change %d by %s, of %s on %s, was from %v to %v", i, k.By, k.Key, k.Node, k.From, k.To)
		}
		if k.By == history.ByStranger {
			t.Errorf("change %d, of %s on %s, is a stranger's: there are none", i, k.Key, k.Node)
		}
		left[at] = k.After
	}
}
