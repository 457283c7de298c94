// Package testbedtest tests whether a testbed keeps what package testbed
// promises: the same tests for every testbed, on real and on virtual time.
package testbedtest

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
)

// Open makes the testbed under test, for one test.
type Open func(testing.TB) testbed.Testbed

// promise is a test of one thing that package testbed promises.
type promise struct {
	name string
	test func(suite)
	// needs is the capability that it is about; "" = every testbed has it.
	needs testbed.Capability
	// where is the topology that it is about; "" = some that every testbed has.
	where testbed.Topology
}

// Run tests the testbed, each promise of what it is capable of in a subtest.
func Run(t *testing.T, open Open) {
	run(t, open, worlds, networks, nodes, moments, clients, storms, clocks, memories, splits, sentinels, clusters)
}

// RunNodes tests of a testbed what has to do with its nodes: for one that has its
// clients, and the way from them, from a testbed that Run tests.
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
