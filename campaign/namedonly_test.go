package campaign

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/internal/fakebed"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// Named schedules alone, without a seed, find every flaw that a recipe declares, under each fault
// for which it is declared, and no other flaw. No verdict is unknown, unless the code under test
// ended the trial.
func TestNamedSchedulesAloneFindEveryDeclaredFlaw(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make thorough runs it")
	}
	c := DefaultConfig()
	c.Testbed, c.Store, c.Parallel = "sim", t.TempDir(), runtime.GOMAXPROCS(0)
	c.Named, c.NamedOnly, c.Expect = true, true, true
	c.Locks = nil
	for _, r := range locks.All() {
		if !strings.HasPrefix(r.ID, "test-") { // other tests register recipes with this prefix
			c.Locks = append(c.Locks, r.ID)
		}
	}
	t.Setenv(trialtest.AsWorker, "1") // worker processes have a garbage collector tuned for trials
	s, err := Campaign{Config: c, Testbed: sim.New(), Worker: []string{os.Args[0]}}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := s.Matrix
	for _, x := range m.Missed {
		t.Errorf("not found: %s under %s: %s (%s)", x.Lock, x.Fault, x.Oracle, x.Cause)
	}
	for _, x := range m.Unexpected {
		t.Errorf("not declared: %s under %s: %s (%s), as in %s", x.Lock, x.Fault, x.Oracle, x.Cause, x.Dir)
	}
	for _, result := range s.Trials {
		for _, v := range result.Verdicts {
			if ended := func(f account.Fact) bool { return f.What == account.EndedByCode }; v.Result == checker.Unknown && !slices.ContainsFunc(v.Reasons, ended) {
				t.Errorf("%s of %s under %s: %s is unknown: %s", result.Spec.Title(), result.Spec.Lock, result.Spec.Fault, v.Oracle, v.Why)
			}
		}
	}
	if code := m.ExitCode(true); code != ExitExpected && !t.Failed() {
		t.Errorf("ends with %d, want %d", code, ExitExpected)
	}
	if drawn := slices.ContainsFunc(s.Trials, func(t trial.Result) bool { return !t.Spec.Named() && !t.Probe }); drawn {
		t.Error("trials were drawn")
	}
	namedSchedulesBite(t, s)
	t.Logf("%d trials", len(s.Trials))
}

// namedSchedulesBite checks that, for each recipe and each fault, at least a third of the named
// schedules hit something. Not all can. For example, a wrong clock within a critical section hits
// only if the client reads its clock again, and a new primary seldom lacks a write.
func namedSchedulesBite(t *testing.T, s Stored) {
	t.Helper()
	ran, bit := map[cellFlaw]int{}, map[cellFlaw]int{}
	for _, x := range s.Trials {
		fault, _ := nemesis.ByName(x.Spec.Fault)
		recipe, _ := locks.ByID(x.Spec.Lock)
		// If no client ever acquires the lock, no client reaches the places at which most named
		// schedules strike.
		_, never := recipe.Declares("liveness", string(checker.NoExpiry), undisturbed)
		if !x.Spec.Named() || fault.Undisturbed || never {
			continue
		}
		of := cellFlaw{lock: x.Spec.Lock, fault: x.Spec.Fault}
		ran[of]++
		if x.Hits > 0 {
			bit[of]++
		}
	}
	if len(ran) < 250 {
		t.Errorf("%d cells have named schedules: want a few hundred", len(ran))
	}
	for of, n := range ran {
		if 3*bit[of] < n {
			t.Errorf("%s under %s: %d of %d schedules struck something, want a third", of.lock, of.fault, bit[of], n)
		}
	}
}

func TestNamedOnlyMeansThatNothingIsDrawn(t *testing.T) {
	jobs, cells := namedJobs(t, func(c *Config) { c.NamedOnly, c.Trials = true, 0 }, fakebed.Sound)
	if len(jobs) == 0 || len(onlyNamed(jobs)) != len(jobs) {
		t.Errorf("%d of %d trials are named, want some and all", len(onlyNamed(jobs)), len(jobs))
	}
	for _, p := range planned(cells) {
		if p.NotSupported != nil {
			t.Errorf("%s under %s is not supported: %s", p.Lock, p.Fault, p.NotSupported.Words())
		}
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Named = false },
		func(c *Config) { c.Trials = 3 },
	} {
		c := DefaultConfig()
		c.Named, c.NamedOnly = true, true
		change(&c)
		if err := c.filled(Defaults{}).check(); err == nil {
			t.Errorf("named %t with %d trials is accepted", c.Named, c.Trials)
		}
	}
}
