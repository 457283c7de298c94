package campaign

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/locks/peers"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// Locks that draw from a generator without a seed. The first draws only its tokens; the second also
// waits for times that it draws.
const (
	tokensOnlyLock = "test-unseeded-tokens"
	varyingLock    = "test-unseeded-times"
)

func unseededToken() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }

func init() {
	registerLibrary(tokensOnlyLock, goRedisDoer, func(*locks.Client) (string, error) { return unseededToken(), nil })
	registerLibrary(varyingLock, goRedisDoer, func(*locks.Client) (string, error) {
		time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
		return unseededToken(), nil
	})
}

// unseeded runs a campaign with tokensOnlyLock, varyingLock and set-nx-px, a recipe of this
// project.
func unseeded(t *testing.T) Stored {
	t.Helper()
	t.Setenv(trialtest.AsWorker, "1")
	c := Campaign{Config: DefaultConfig(), Testbed: sim.New(), Worker: []string{os.Args[0]}}
	c.Config.Locks, c.Config.Faults = []string{tokensOnlyLock, varyingLock, "set-nx-px"}, []string{undisturbed, "client-pause"}
	c.Config.Testbed, c.Config.Store, c.Config.Trials, c.Config.Parallel = "sim", t.TempDir(), 3, 2
	s := complete(t, c)
	return s
}

func TestALockThatDoesSomethingElseAgainIsMarkedAndTheCampaignGoesOn(t *testing.T) {
	s := unseeded(t)
	if len(s.Matrix.Varying) != 1 || s.Matrix.ExitCode(false) == ExitHarness {
		t.Fatalf("got %v, want one lock that varies", s.Matrix.Varying)
	}
	v := s.Matrix.Varying[0]
	if v.Lock != varyingLock || v.Log == "" || v.Field == "" || v.First == v.Second || !strings.Contains(v.Words(), varyingLock+" is not replayable byte for byte: ") {
		t.Errorf("got %+v", v)
	}
	for _, dir := range []string{v.Dir, v.Again} {
		if _, err := trial.LoadRecord(filepath.Join(s.Dir, dir)); err != nil {
			t.Error(err)
		}
	}
	for _, c := range s.Matrix.Cells {
		if varies := c.Lock == varyingLock; c.Varies != varies || (c.Hash == "") != varies || strings.Contains(c.Replay, "--hash") == varies {
			t.Errorf("cell %s under %s: varies %v, hash %q, replay %s", c.Lock, c.Fault, c.Varies, c.Hash, c.Replay)
		}
	}
	if s.Reproduced == 0 || s.Reproduced >= len(s.Trials) {
		t.Errorf("%d of %d trials repeated", s.Reproduced, len(s.Trials))
	}
	read, err := Load(s.Dir)
	if err != nil || len(read.Matrix.Varying) != 1 || read.Matrix.Varying[0] != v {
		t.Errorf("read back: %v, %v", read.Matrix.Varying, err)
	}
}

func TestOurRecipesAreTold(t *testing.T) {
	for lock, want := range map[string]bool{"set-nx-px": true, "redlock": true, trialtest.Sound: false, varyingLock: false, "none such": false} {
		if got := Ours(lock); got != want {
			t.Errorf("%s: got %v", lock, got)
		}
	}
	all := peers.Recipes()
	if len(all) == 0 || slices.ContainsFunc(all, ours) {
		t.Errorf("one of the %d libraries counts as this project's own", len(all))
	}
}
