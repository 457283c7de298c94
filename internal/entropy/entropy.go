// Package entropy makes the global random number generators draw from a seed, as far as Go allows
// it. It is only for processes that run trials in virtual time, one after another: in such a
// process no random number is a secret any more.
//
// These draw from the seed:
//
//   - crypto/rand: Read, Text, Int, Prime and code that reads Reader;
//   - github.com/google/uuid, which gets the new Reader: by itself it would keep the Reader
//     from the program's start;
//   - in a test binary only: other packages that kept the old Reader, and the crypto
//     packages. Go 1.26 can seed these in tests (testing/cryptotest), not in programs;
//   - math/rand, under GODEBUG=randseednop=0 only.
//
// These do not: the top-level functions of math/rand/v2 and hash/maphash, the order of maps, and
// select between channels that are ready. Go has no seed for them.
package entropy

import (
	crypto "crypto/rand"
	"encoding/binary"
	"io"
	math "math/rand"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/cryptotest"

	"github.com/google/uuid"
)

// Seed restarts the global generators from a seed, which applies until the next call. It must not
// run concurrently with itself, with Unseed, or with code that reads crypto/rand. In a test
// binary, no test may run in parallel.
func Seed(seed uint64) {
	if replaced == nil {
		replaced = crypto.Reader
	}
	if testing.Testing() {
		seedTest(seed)
	} else {
		crypto.Reader = newSource(seed)
	}
	uuid.SetRand(crypto.Reader)
	SeedMath(seed)
}

// Unseed ends the effect of Seed; without a call of Seed it does nothing. It restores
// crypto/rand.Reader as it was before Seed. Later random numbers come from no known seed. In a
// test binary the generators then draw from a random seed, since testing/cryptotest restores the
// system's source only at the end of a test.
func Unseed() {
	if replaced == nil {
		return
	}
	if testing.Testing() {
		seedTest(rand.Uint64())
	}
	crypto.Reader, replaced = replaced, nil
	uuid.SetRand(nil)
	SeedMath(rand.Uint64())
}

// replaced is crypto/rand.Reader as it was before Seed; nil = nothing is seeded.
var replaced io.Reader

// seedTest seeds crypto/rand and the crypto packages of a test binary.
func seedTest(seed uint64) {
	cryptotest.SetGlobalRandom(new(testing.T), seed) // this T is never cleaned up
}

// SeedMath seeds math/rand, under GODEBUG=randseednop=0 only.
func SeedMath(seed uint64) {
	//lint:ignore SA1019 the global generator of others has no other seed
	math.Seed(int64(seed))
}

func newSource(seed uint64) *source {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return &source{random: rand.NewChaCha8(key)}
}

// source is a random source that is safe for concurrent use.
type source struct {
	mu     sync.Mutex
	random *rand.ChaCha8
}

var _ io.Reader = (*source)(nil)

// Read implements io.Reader. It never fails.
func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.Read(p)
}
