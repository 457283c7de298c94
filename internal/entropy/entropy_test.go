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

// kept is the Reader from the program's start, as some packages keep it.
var kept = rand.Reader

// drawn returns random values, each drawn in a different way, as libraries draw them.
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
	defer Unseed()
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

func TestAfterUnseedNothingDependsOnTheSeed(t *testing.T) {
	t.Setenv("GODEBUG", "randseednop=0")
	own := &source{random: newSource(1).random}
	system := rand.Reader
	defer func() { rand.Reader = system }()
	after := func(reader io.Reader) map[string]string {
		rand.Reader = reader
		Seed(1)
		Seed(2) // the next trial
		Unseed()
		if rand.Reader != reader {
			t.Errorf("the Reader is a %T, want the %T from before", rand.Reader, reader)
		}
		return drawn(t)
	}
	first, again := after(system), after(system)
	for how, d := range first {
		if again[how] == d {
			t.Errorf("%s: %s both times after the same seed", how, d)
		}
	}
	after(own) // with a Reader that the program has set itself
}

func TestUnseedWithoutSeedChangesNothing(t *testing.T) {
	system := rand.Reader
	defer func() { rand.Reader = system }()
	rand.Reader = newSource(1)
	uuid.SetRand(newSource(1))
	defer uuid.SetRand(nil)
	Unseed()
	want := newSource(1)
	var b [16]byte
	_, _ = want.Read(b[:])
	if got := drawn(t)["uuid.NewString"]; got[:8] != hex.EncodeToString(b[:4]) {
		t.Errorf("uuid draws %s, want what its own reader has, %x", got, b)
	}
	if _, seeded := rand.Reader.(*source); !seeded {
		t.Errorf("the Reader is a %T now", rand.Reader)
	}
}

// In a test binary Seed uses testing/cryptotest instead of newSource, so this test calls newSource.
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
