package locktest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/locktest"
)

// A recipe claims the traits that its lock showed in trials, and the promises of its options.
func TestARecipePromisesWhatItsLockHas(t *testing.T) {
	for name, test := range map[string]struct {
		recipe                                      locks.Recipe
		extends, fenced, readWrite, reentrant, wait bool
	}{
		"plain":     {recipe: locktest.Recipe("set-nx-px", right)}, // the name of a built-in recipe does no harm here
		"extended":  {recipe: locktest.Recipe("mine", extended(true)), extends: true},
		"fenced":    {recipe: locktest.Recipe("mine", fenced, locktest.RequireFencing), fenced: true},
		"readWrite": {recipe: locktest.Recipe("mine", readWrite), readWrite: true},
		"reentrant": {recipe: locktest.Recipe("mine", reentrant, locktest.Reentrant), reentrant: true},
		"polled":    {recipe: locktest.Recipe("mine", polled, locktest.Blocking), wait: true},
	} {
		c := test.recipe.Claims(time.Second, 1)
		if c.Extends != test.extends || c.Fenced != test.fenced || c.ReadWrite != test.readWrite || c.Reentrant != test.reentrant || c.Waits != test.wait {
			t.Errorf("%s: it claims %+v", name, c)
		}
		if c.Lock != test.recipe.ID {
			t.Errorf("%s: the claims are those of %q, want %q", name, c.Lock, test.recipe.ID)
		}
		if err := test.recipe.CheckClaims(time.Second, 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If a lock cannot be tested, its recipe's trials fail with the reason.
func TestARecipeOfALockThatNobodyAcquiresSaysSo(t *testing.T) {
	for want, r := range map[string]locks.Recipe{
		"nobody acquired the lock: Acquire failed: the service is not configured": locktest.Recipe("mine", unconfigured),
		"fencing is required, but Acquire returned no Held.Fence":                 locktest.Recipe("mine", right, locktest.RequireFencing),
		"TTL is 1ns: expected at least 10ms":                                      locktest.Recipe("mine", right, locktest.TTL(1)),
	} {
		if _, err := r.New(&locks.Client{Context: t.Context()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
