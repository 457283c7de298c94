package nemesis

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
)

func TestAFrozenPrimaryIsReplacedWhereNodesElect(t *testing.T) {
	for topology, want := range map[testbed.Topology]bool{
		testbed.Single: false, testbed.Replicated: false, testbed.Independent: false, testbed.Sentinel: true, testbed.Cluster: true,
	} {
		if got := slices.Contains(Provoked("node-pause", topology), "failover"); got != want {
			t.Errorf("%s: a pause brings about a failover: got %t, want %t", topology, got, want)
		}
		if got := Provoked("client-pause", topology); got != nil {
			t.Errorf("%s: a client's pause brings about %v", topology, got)
		}
	}
	for _, f := range All() {
		for _, name := range f.provokes {
			if _, ok := ByName(name); !ok {
				t.Errorf("%s provokes %q, which is no fault", f.Name, name)
			}
		}
	}
}
