package sim

import (
	"testing"
	"testing/cryptotest"

	"github.com/lockstorm/lockstorm/internal/entropy"
)

// SeedTest makes random numbers depend on a trial's seed until the test ends. A test that
// runs trials in its own process, one at a time, calls SeedTest before each trial. SeedTest seeds
// crypto/rand (testing/cryptotest) and, in a program with "go:debug randseednop=0",
// math/rand. Trials in worker processes do not need it.
func SeedTest(t *testing.T, seed uint64) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed)
	entropy.SeedMath(seed)
}
