// Package entropy makes the global generators of random numbers draw from a seed, as
// far as Go allows it. It is for processes that run trials in virtual time, one after
// another, and for nobody else: nothing in such a process is a secret any more.
//
// What draws from the seed then:
//
//   - crypto/rand: Read, Text, Int, Prime and whoever reads Reader;
//   - github.com/google/uuid, which keeps the Reader that there was when the program
//     began;
//   - in a test binary whoever else kept it, and all that the crypto packages draw: Go
//     1.26 has a way for tests (testing/cryptotest) and for nobody else;
//   - math/rand, under GODEBUG=randseednop=0 only.
//
// What does not: the top-level functions of math/rand/v2 and hash/maphash, the order of
// maps, and select between channels that are ready. Go has no seed for these.
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

// Seed restarts the global generators from a seed. They stay so until the next call. No
// test may run in parallel.
func Seed(seed uint64) {
	if testing.Testing() {
		cryptotest.SetGlobalRandom(new(testing.T), seed) // which nobody ever cleans up
	} else {
		crypto.Reader = newSource(seed)
	}
	uuid.SetRand(crypto.Reader)
	Math(seed)
}

// Math seeds math/rand, under GODEBUG=randseednop=0 only.
func Math(seed uint64) {
	//lint:ignore SA1019 the global generator of others has no other seed
	math.Seed(int64(seed))
}

func newSource(seed uint64) *source {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return &source{random: rand.NewChaCha8(key)}
}

// source is for concurrent use.
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
