package campaign

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// Trials drawn from seeds that nobody has chosen show no flaw that a recipe does not declare. The name of
// a failed subtest has its seed.
func TestUnseenSeedsShowOnlyDeclaredFlaws(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make thorough runs it")
	}
	t.Setenv(trialtest.AsWorker, "1") // worker processes have a garbage collector tuned for trials
	for range 3 {
		c := DefaultConfig()
		c.Testbed, c.Store, c.Parallel, c.Locks = "sim", t.TempDir(), runtime.GOMAXPROCS(0), documented()
		c.Named, c.Trials, c.Seed = false, 3, rand.Uint64N(trial.MaxSeed)
		t.Run(fmt.Sprint(c.Seed), func(t *testing.T) {
			s := complete(t, Campaign{Config: c, Testbed: sim.New(), Worker: []string{os.Args[0]}})
			for _, x := range s.Matrix.Unexpected {
				t.Errorf("not declared: %s under %s: %s (%s), as in %s", x.Lock, x.Fault, x.Oracle, x.Cause, x.Dir)
			}
			t.Logf("%d trials", len(s.Trials))
		})
	}
}
