package testbedtest

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

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
	// own says that the test needs what a testbed does by means of its own: start, freeze, kill and restart
	// servers, and stand between them. What is left is the same code on all real testbeds.
	own bool
}

// Run tests each promise in a subtest, and checks at the end that no goroutine is left. If apart says that
// environments share no servers, promises are tested several at once, since most of them wait. Run leaves out a
// promise if the testbed lacks the capability or the topology that the promise needs.
func Run(t *testing.T, open Open, apart bool) {
	run(t, open, apart, worlds, networks, nodes, moments, clients, storms, clocks, memories, splits, sentinels, clusters, keys, waits)
}

// RunNodes tests only the promises about nodes and topologies. It is for a testbed that shares
// the code of its clients and links with another testbed, which Run tests. With -short, it tests only
// what the testbed does by means of its own.
func RunNodes(t *testing.T, open Open, apart bool) {
	run(t, open, apart, ownIfShort(t, topologyPromises, nodes, moments, clocks, memories, sentinels, clusters, keys, waits))
}

// RunShared tests what Run does, one promise at a time, on a testbed whose environments share servers. With -short,
// it tests only what the testbed does by means of its own.
func RunShared(t *testing.T, open Open) {
	run(t, open, false, ownIfShort(t, worlds, networks, nodes, moments, clients, storms, clocks, memories, splits, sentinels, clusters, keys, waits))
}

func ownIfShort(t *testing.T, promises ...[]promise) []promise {
	all := slices.Concat(promises...)
	if testing.Short() {
		all = slices.DeleteFunc(all, func(p promise) bool { return !p.own })
		t.Logf("with -short, %d promises are tested; make thorough tests the others", len(all))
	}
	return all
}

func run(t *testing.T, open Open, apart bool, promises ...[]promise) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	tb := open(t)
	able, have := tb.Capabilities(), tb.Topologies()
	for _, p := range slices.Concat(promises...) {
		switch {
		case p.needs != "" && !slices.Contains(able, p.needs):
			t.Logf("left out: %s: the testbed cannot disturb %s", p.name, p.needs)
		case p.where != "" && !slices.Contains(have, p.where):
			t.Logf("left out: %s: the testbed has no %s topology", p.name, p.where)
		default:
			t.Run(p.name, func(t *testing.T) {
				if apart {
					t.Parallel()
				}
				p.test(suite{t, open})
			})
		}
	}
}
