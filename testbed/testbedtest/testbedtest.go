package testbedtest

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
)

// Open returns the testbed under test, for one test.
type Open func(testing.TB) testbed.Testbed

// promise is a test of one promise of package testbed.
type promise struct {
	name string
	test func(suite)
	// needs is the capability that this test needs; "" = none.
	needs testbed.Capability
	// where is the topology that this test needs; "" = every testbed with the capability has the
	// topologies that the test needs.
	where testbed.Topology
}

// Run tests each promise in a subtest. It leaves out a promise if the testbed lacks the capability
// or the topology that the promise needs.
func Run(t *testing.T, open Open) {
	run(t, open, worlds, networks, nodes, moments, clients, storms, clocks, memories, splits, sentinels, clusters)
}

// RunNodes tests only the promises about nodes and topologies. It is for a testbed that shares
// the code of its clients and links with another testbed, which Run tests.
func RunNodes(t *testing.T, open Open) {
	run(t, open, topologyPromises, nodes, moments, memories, sentinels, clusters)
}

func run(t *testing.T, open Open, promises ...[]promise) {
	tb := open(t)
	able, have := tb.Capabilities(), tb.Topologies()
	for _, p := range slices.Concat(promises...) {
		switch {
		case p.needs != "" && !slices.Contains(able, p.needs):
			t.Logf("left out: %s: the testbed cannot disturb %s", p.name, p.needs)
		case p.where != "" && !slices.Contains(have, p.where):
			t.Logf("left out: %s: the testbed has no %s topology", p.name, p.where)
		default:
			t.Run(p.name, func(t *testing.T) { p.test(suite{t, open}) })
		}
	}
}
