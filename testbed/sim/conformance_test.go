package sim_test

import (
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

func TestSimKeepsWhatTestbedsPromise(t *testing.T) {
	testbedtest.Run(t, func(testing.TB) testbed.Testbed { return sim.New() })
}
