package entropy

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	math "math/rand"
	"testing"

	"github.com/google/uuid"
)

// kept is a reader that a package keeps when the program begins.
var kept = rand.Reader

// drawn is what libraries draw, each in its own way.
func drawn(t *testing.T) map[string]string {
	t.Helper()
	read := func(r io.Reader) string {
		var b [8]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(b[:])
	}
	var b [8]byte
	_, _ = rand.Read(b[:])
	return map[string]string{
		"rand.Read": hex.EncodeToString(b[:]), "rand.Text": rand.Text(), "rand.Reader": read(rand.Reader),
		"a reader that was kept": read(kept), "uuid.NewString": uuid.NewString(), "math/rand": fmt.Sprint(math.Int63()),
	}
}

func TestASeedDecidesWhatLibrariesDraw(t *testing.T) {
	t.Setenv("GODEBUG", "randseednop=0")
	Seed(1)
	first := drawn(t)
	drawn(t)
	Seed(1)
	again := drawn(t)
	Seed(2)
	other := drawn(t)
	for how, want := range first {
		if again[how] != want {
			t.Errorf("%s: got %s and %s from one seed", how, want, again[how])
		}
		if other[how] == want {
			t.Errorf("%s: got %s from two seeds", how, want)
		}
	}
}

// A program that is no test has no testing/cryptotest.
func TestASourceGivesTheSameBytesToTheSameSeed(t *testing.T) {
	draw := func(seed uint64) string {
		var b [16]byte
		if _, err := io.ReadFull(newSource(seed), b[:]); err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(b[:])
	}
	if one, again, other := draw(1), draw(1), draw(2); one != again || one == other {
		t.Errorf("got %s, %s, and %s from another seed", one, again, other)
	}
}
