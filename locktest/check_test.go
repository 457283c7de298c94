package locktest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locktest"
)

// The program reader (testdata/reader) calls Check three times: in one call nothing goes wrong, in
// another the context is cancelled, and in another Acquire panics. The program fails if
// crypto/rand.Reader is not restored after each call.
func TestCheckRestoresTheReaderOfAProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "reader")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/reader").CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// Options.Replay runs one trial: one that a flaw names shows that flaw again. A trial that does not exist is
// an error.
func TestCheckRunsOneTrialByItsName(t *testing.T) {
	o := locktest.Options{Faults: []string{"client-pause"}, Trials: -1, Short: true}
	all, err := locktest.Check(t.Context(), bareDelete, o)
	if err != nil || all.Faults[0].Violation == nil {
		t.Fatalf("%v, %v: want a violation", all, err)
	}
	for _, want := range all.Faults[0].Violation.Flaws {
		o.Replay = want.Replay
		one, err := locktest.Check(t.Context(), bareDelete, o)
		if err != nil || one.Trials != 1 || one.Faults[0].Violation == nil {
			t.Errorf("%s: %+v, %v: want one violated trial", want.Replay, one, err)
			continue
		}
		v := one.Faults[0].Violation
		if v.Story == "" || !slices.ContainsFunc(v.Flaws, func(f locktest.Flaw) bool { return f.String() == want.String() }) {
			t.Errorf("%s shows %v, want %v, with a story", want.Replay, v.Flaws, want)
		}
	}
	o.Replay = "mutex/nowhere-1of2"
	if _, err := locktest.Check(t.Context(), bareDelete, o); !errors.Is(err, locktest.ErrNoTrial) {
		t.Errorf("got %v, want %v", err, locktest.ErrNoTrial)
	}
}

// In a test binary, rand.Reader draws from a seed even after Check, but that seed is random.
func TestAfterCheckNothingDependsOnItsSeed(t *testing.T) {
	before := rand.Reader
	panics := func(c *locktest.Client) (locktest.Acquire, error) {
		acquire, err := right(c)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			_, _ = acquire(ctx, key, ttl)
			panic("the lock has no lease")
		}, err
	}
	for name, subject := range map[string]locktest.Subject{"it returns": right, "Acquire panics": panics} {
		drawn := func() string {
			result, err := locktest.Check(t.Context(), subject, locktest.Options{Faults: []string{"none"}, Trials: -1})
			if err != nil || result.Trials == 0 {
				t.Errorf("%s: %v, %v: nothing was tried", name, result, err)
			}
			if rand.Reader != before {
				t.Errorf("%s: the Reader is a %T, want the %T from before", name, rand.Reader, before)
			}
			return rand.Text()
		}
		if first, again := drawn(), drawn(); first == again {
			t.Errorf("%s: %s is drawn after each of two calls", name, first)
		}
	}
}
