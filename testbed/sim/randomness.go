package sim

import (
	"testing"
	"testing/cryptotest"

	"github.com/lockstorm/lockstorm/internal/entropy"
)

// SeedTest is for a test that runs trials in its own process, one at a time: call it
// before each with the trial's seed. Until the test ends, crypto/rand draws from that
// seed (testing/cryptotest), and so does math/rand in a program with //go:debug
// randseednop=0. Trials in worker processes do not need it.
func SeedTest(t *testing.T, seed uint64) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed)
	entropy.Math(seed)
}
