package container

import (
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// TestContainerKeepsWhatTestbedsPromise tests only the nodes: connections from clients use the same
// code as in package process, and are tested in that package.
func TestContainerKeepsWhatTestbedsPromise(t *testing.T) {
	needEngine(t)
	testbedtest.RunNodes(t, func(testing.TB) testbed.Testbed { return shared }, true)
}

// needEngine skips a test if there is no shared testbed. TestMain has printed why there is none.
func needEngine(t *testing.T) {
	t.Helper()
	if missing != nil {
		t.Skip(missing)
	}
}
