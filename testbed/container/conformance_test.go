package container

import (
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// Connections from clients to the nodes' ports use the same code as for processes; it is
// tested there.
func TestContainerKeepsWhatTestbedsPromise(t *testing.T) {
	needEngine(t)
	testbedtest.RunNodes(t, func(testing.TB) testbed.Testbed { return shared })
}

// needEngine skips a test where it cannot run. TestMain has said so too.
func needEngine(t *testing.T) {
	t.Helper()
	if missing != nil {
		t.Skip(missing)
	}
}
