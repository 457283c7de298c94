package sim_test

import (
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

func TestSimKeepsWhatTestbedsPromise(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: with the race detector this takes minutes; make test runs it without")
	}
	testbedtest.Run(t, func(testing.TB) testbed.Testbed { return sim.New() })
}
