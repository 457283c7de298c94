package testbedtest_test

import (
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// The test is not in package sim, since scripts/test runs that package with the race detector, which would
// make it last for minutes.
func TestTheSimulationKeepsWhatTestbedsPromise(t *testing.T) {
	testbedtest.Run(t, func(testing.TB) testbed.Testbed { return sim.New() }, true)
}
