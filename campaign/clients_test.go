package campaign

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// onProcesses returns a testbed, and a configuration of trials whose clients run in processes of
// their own. These processes run this test program.
func onProcesses(t *testing.T) (testbed.Testbed, Config) {
	t.Helper()
	tb, argv := trialtest.OnProcesses(t)
	c := DefaultConfig()
	c.Duration, c.Store = 3*time.Second, t.TempDir()
	c.ClientsAs, c.ClientCommand = trial.Processes, argv
	return tb, c
}

// judged runs one trial. If the verdict is unknown because the machine was too busy, judged runs
// the trial again.
func judged(t *testing.T, tb testbed.Testbed, c Config, s trial.Spec) trial.Result {
	t.Helper()
	var d trial.Done
	const tries = 10
	for try := range tries {
		folder := filepath.Join(c.Store, fmt.Sprintf("%s-%s-%d-%d", s.Fault, s.ClientsAs, s.Trial, try))
		var err error
		d, err = trial.Execute(t.Context(), tb, trial.Task{Spec: s, Folder: folder, Keep: true}, new(sync.Mutex), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !d.Stalled {
			return d.Trial
		}
	}
	t.Fatalf("in each of %d trials this machine did not run us for more than a tenth of a lease: %s", tries, d.Trial.Why)
	return trial.Result{}
}

// The gate freezes and crashes goroutine clients; the operating system freezes and kills client
// processes. Both kinds must get the same verdicts. On real time a single trial may not show the
// flaw.
func TestClientsInProcessesComeToTheVerdictsOfGoroutines(t *testing.T) {
	tests := map[string]struct {
		outcome trial.Outcome
		cause   string
		trials  int // the outcome must show in at least one of this many trials
	}{
		"none":         {trial.Holds, "", 1},
		"client-pause": {trial.Violated, "lease-outlived", 8},
		"client-crash": {trial.Blocked, "orphaned-key", 8},
		"lost-reply":   {trial.Blocked, "orphaned-key", 8},
	}
	tb, c := onProcesses(t)
	for fault, test := range tests {
		if testing.Short() && fault != "client-pause" {
			continue // trials on real time are slow; make thorough runs all
		}
		for _, as := range []string{trial.Processes, trial.Goroutines} {
			t.Run(fault+" "+as, func(t *testing.T) {
				t.Parallel() // most of the time is spent waiting
				c := c
				c.ClientsAs = as
				found, unhit := false, fault != "none" // on a busy machine, a fault may hit nothing in a trial
				for k := 0; k < test.trials && (!found || unhit); k++ {
					s := specOf(t, tb, c, "set-nx-px", fault, "mutex", k)
					got := judged(t, tb, c, s)
					if got.Err != "" {
						t.Errorf("trial %d: %s", k, got.Err)
					}
					unhit = unhit && got.Hits == 0
					for _, f := range got.Flaws {
						if f.Cause != test.cause && f.Cause != "orphaned-key" {
							t.Errorf("trial %d: %s violated by %s, want %s", k, f.Oracle, f.Cause, test.cause)
						}
					}
					found = found || got.Outcome == test.outcome
				}
				if unhit {
					t.Errorf("nothing was hit in %d trials", test.trials)
				}
				if !found {
					t.Errorf("not %s in %d trials", test.outcome, test.trials)
				}
			})
		}
	}
}

func TestClientsHaveProcessesOnRealTimeOnly(t *testing.T) {
	c := DefaultConfig()
	c.Testbed, c.Store, c.ClientsAs = "sim", t.TempDir(), trial.Processes
	var wrong *input.Error
	if _, err := (Campaign{Config: c, Testbed: sim.New()}).Run(t.Context()); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "clients-as processes: testbed sim") {
		t.Errorf("campaign: got %v", err)
	}
	if _, err := PlanTrial(t.Context(), sim.New(), c, "set-nx-px", "none", "mutex", 0); !errors.As(err, &wrong) {
		t.Errorf("plan: got %v", err)
	}
	s := soundSpec()
	c.clients(&s)
	if _, _, err := (Replay{Testbed: sim.New(), Spec: s}).Run(t.Context()); !errors.As(err, &wrong) {
		t.Errorf("replay: got %v", err)
	}
	c.ClientsAs = "threads"
	if _, err := (Campaign{Config: c, Testbed: sim.New()}).Run(t.Context()); !errors.As(err, &wrong) || !strings.Contains(err.Error(), `clients-as "threads": expected goroutines or processes`) {
		t.Errorf("threads: got %v", err)
	}
}
