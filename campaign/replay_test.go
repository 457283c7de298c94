package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

func TestResultsDoNotDependOnWorkersOrOrder(t *testing.T) {
	raced(t)
	t.Setenv(trialtest.AsWorker, "1")
	matrix := func(parallel int, worker ...string) string {
		c := Campaign{Config: DefaultConfig(), Testbed: sim.New(), Worker: worker}
		c.Config.Locks, c.Config.Faults = []string{"setnx-expire", "set-nx-px"}, []string{undisturbed, "client-pause", "reset"}
		c.Config.Testbed, c.Config.Store, c.Config.Trials, c.Config.Parallel = "sim", t.TempDir(), 2, parallel
		s := complete(t, c)
		if s.Reproduced < 10 || s.Virtual() < time.Minute {
			t.Errorf("%d trials repeated, %v of virtual time", s.Reproduced, s.Virtual())
		}
		data, err := os.ReadFile(filepath.Join(s.Dir, MatrixFile))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Replace(string(data), s.Dir, "", 1)
	}
	want := matrix(1)
	for name, got := range map[string]string{"three at a time": matrix(3), "two processes": matrix(2, os.Args[0])} {
		if got != want {
			t.Errorf("%s: matrix is\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestAReplayDoesWhatTheCampaignDid(t *testing.T) {
	c := Campaign{Config: DefaultConfig(), Testbed: sim.New()}
	c.Config.Locks, c.Config.Faults = []string{"setnx-expire"}, []string{undisturbed, "client-pause"}
	c.Config.Testbed, c.Config.Store, c.Config.Trials = "sim", t.TempDir(), 3
	s := complete(t, c)
	for _, was := range s.Trials {
		spec := specOf(t, sim.New(), c.Config, was.Spec.Lock, was.Spec.Fault, was.Spec.Workload, was.Spec.Trial)
		var logged int
		dir := filepath.Join(t.TempDir(), "again")
		got, e, err := Replay{Testbed: sim.New(), Spec: spec, Dir: dir, Log: func(history.Command) { logged++ }}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Hash != was.Hash || got.Outcome != was.Outcome || history.Hash(e) != was.Hash || logged != was.Commands {
			t.Errorf("trial %d under %s: %s, %s, %d commands logged; want %s, %s and %d", was.Spec.Trial, was.Spec.Fault,
				got.Hash, got.Outcome, logged, was.Hash, was.Outcome, was.Commands)
		}
		if _, err := trial.LoadRecord(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestOnlyTrialsThatExistCanBePlanned(t *testing.T) {
	tests := map[string]struct {
		lock, fault, workload string
		k                     int
	}{
		`unknown lock "x"`:     {"x", undisturbed, "mutex", 0},
		`unknown fault "x"`:    {"redlock", "x", "mutex", 0},
		`unknown workload "x"`: {"redlock", undisturbed, "x", 0},
		"trial -1":             {"redlock", undisturbed, "mutex", -1},
		"cannot strike":        {"redlock", "failover", "mutex", 0},
		"none of the chosen":   {"redlock", undisturbed, "read-write", 0},
		"one lock, fault and":  {"redlock*", undisturbed, "mutex", 0},
	}
	for want, test := range tests {
		_, err := PlanTrial(t.Context(), sim.New(), DefaultConfig(), test.lock, test.fault, test.workload, test.k)
		var wrong *input.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an InputError with %q", err, want)
		}
	}
}

func TestASpecThatNoTrialCanBeMadeOfIsTheUsersError(t *testing.T) {
	unknown := soundSpec()
	unknown.Lock = "none-such"
	lazy := soundSpec()
	lazy.Workload = "none-such"
	empty := soundSpec()
	empty.Options.Clients = 0
	astray := soundSpec()
	astray.Options.Script = [][]workloads.Section{{{Lock: astray.Options.Keys}}}
	for want, s := range map[string]trial.Spec{
		`unknown lock "none-such"`: unknown, `unknown workload "none-such"`: lazy,
		"0 clients": empty, "script of client 0, section 0: lock ": astray,
	} {
		_, _, err := Replay{Testbed: &trialtest.Bed{}, Spec: s}.Run(t.Context())
		var wrong *input.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an InputError with %q", err, want)
		}
		if _, err := trial.Execute(t.Context(), &trialtest.Bed{}, trial.Task{Spec: s}, new(sync.Mutex), nil); !errors.As(err, &wrong) {
			t.Errorf("got %v", err)
		}
	}
}
