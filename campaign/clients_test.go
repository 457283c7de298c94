package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	redis "github.com/lockstorm/lockstorm/testbed/process"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// onProcesses returns the testbed, and a configuration of trials whose clients have
// processes of their own: this test program, again.
func onProcesses(t *testing.T) (testbed.Testbed, Config) {
	t.Helper()
	t.Setenv(asClient, "1")
	tb, err := redis.New(redis.Options{Temp: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	c := DefaultConfig()
	c.Duration, c.Store = 3*time.Second, t.TempDir()
	c.ClientsAs, c.ClientCommand = Processes, []string{os.Args[0]}
	t.Cleanup(func() {
		if left := offspring(t); len(left) > 0 {
			t.Errorf("processes left behind: %v", left)
		}
	})
	return tb, c
}

// offspring are the processes that this one has started and not buried.
func offspring(t *testing.T) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid()) {
			found = append(found, strings.TrimSpace(string(data)))
		}
	}
	return found
}

// judged runs one trial, again if the machine was too busy for it to prove
// anything.
func judged(t *testing.T, tb testbed.Testbed, c Config, s Spec) Trial {
	t.Helper()
	var d done
	const tries = 10
	for try := range tries {
		folder := filepath.Join(c.Store, fmt.Sprintf("%s-%s-%d-%d", s.Fault, s.ClientsAs, s.Trial, try))
		var err error
		d, err = execute(t.Context(), tb, task{Spec: s, Folder: folder, Keep: true}, new(sync.Mutex), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !d.Stalled {
			return d.Trial
		}
	}
	t.Fatalf("in each of %d trials this machine did not run us for more than a tenth of a lease: %s", tries, d.Trial.Why)
	return Trial{}
}

// What is found does not depend on whether the gate freezes and crashes a client
// or the operating system its process. In one trial on real time it may not show.
func TestClientsInProcessesComeToTheVerdictsOfGoroutines(t *testing.T) {
	tests := map[string]struct {
		outcome Outcome
		cause   string
		trials  int // in which it shows, at the latest
	}{
		"none":         {Holds, "", 1},
		"client-pause": {Violated, "lease-outlived", 8},
		"client-crash": {Blocked, "orphaned-key", 8},
		"lost-reply":   {Blocked, "orphaned-key", 8},
	}
	tb, c := onProcesses(t)
	for fault, test := range tests {
		for _, as := range []string{Processes, Goroutines} {
			t.Run(fault+" "+as, func(t *testing.T) {
				c := c
				c.ClientsAs = as
				found, unhit := false, fault != "none" // a fault may miss in a trial, as in a busy one
				for k := 0; k < test.trials && (!found || unhit); k++ {
					s, err := PlanTrial(t.Context(), tb, c, "set-nx-px", fault, "mutex", k)
					if err != nil {
						t.Fatal(err)
					}
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

func TestAClientProcessThatTheCodeUnderTestEndsIsAVerdict(t *testing.T) {
	tb, c := onProcesses(t)
	for lock, want := range map[string]string{
		"test-kills-panic": "panic: lost at 0x… (in github.com/lockstorm/lockstorm/campaign.init.func",
		"test-kills-exit":  "the code under test ended its process: exit status 3",
		"test-kills-crowd": "recipe test-kills-crowd panicked: caught, as it is not in a goroutine of its own (in github.com/",
	} {
		t.Run(lock, func(t *testing.T) {
			s := soundSpec()
			s.Lock, s.Testbed, s.Options.Duration = lock, tb.Name(), 500*time.Millisecond
			c.clients(&s)
			rec := history.NewRecorder(nil, tb.Clock())
			e, broken, err := runTrial(t.Context(), tb, s, rec, receivers{})
			if err != nil || broken == nil {
				t.Fatalf("got %v, %v; want a breakdown", broken, err)
			}
			last := e.Ops[len(e.Ops)-1]
			if last.F != history.FPanic || last.Error != broken.Detail || !strings.HasPrefix(last.Error, "client ") || !strings.Contains(last.Error, want) {
				t.Errorf("last entry is %+v, want %q", last, want)
			}
		})
	}
}

// Of several clients that break down at once, the history ends with the first; the
// testbed may return another's error.
func TestATrialIsToldToHaveBrokenDownAsItsHistoryEnds(t *testing.T) {
	rec := history.NewRecorder(nil, func() time.Duration { return 0 })
	first := &testbed.Breakdown{Kind: history.FPanic, Detail: "client 1: first"}
	if err := rec.End(first.Event(), 0); err != nil {
		t.Fatal(err)
	}
	trial := &trial{rec: rec, broken: &testbed.Breakdown{Kind: history.FPanic, Detail: "client 0: second", Stack: "s"}}
	if err := trial.over(trial.broken); err != nil || trial.broken.Detail != first.Detail || trial.broken.Stack != "s" {
		t.Errorf("got %v, broken %+v, want %q", err, trial.broken, first.Detail)
	}
}

func TestClientProcessesThatCannotBeStartedAreNoFinding(t *testing.T) {
	tb, c := onProcesses(t)
	for want, argv := range map[string][]string{"no such file": {"/none/such"}, "exit status 1": {"false"}, "no program": nil} {
		s := soundSpec()
		s.Testbed = tb.Name()
		c.ClientCommand = argv
		c.clients(&s)
		_, broken, err := runTrial(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), receivers{})
		if broken != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, %v; want %q", argv, broken, err, want)
		}
	}
}

func TestClientsHaveProcessesOnRealTimeOnly(t *testing.T) {
	c := DefaultConfig()
	c.Testbed, c.Store, c.ClientsAs = "sim", t.TempDir(), Processes
	var input *InputError
	if _, err := (Campaign{Config: c, Testbed: sim.New()}).Run(t.Context()); !errors.As(err, &input) || !strings.Contains(err.Error(), "--clients-as processes: testbed sim") {
		t.Errorf("campaign: got %v", err)
	}
	if _, err := PlanTrial(t.Context(), sim.New(), c, "set-nx-px", "none", "mutex", 0); !errors.As(err, &input) {
		t.Errorf("plan: got %v", err)
	}
	s := soundSpec()
	c.clients(&s)
	if _, _, err := (Replay{Testbed: sim.New(), Spec: s}).Run(t.Context()); !errors.As(err, &input) {
		t.Errorf("replay: got %v", err)
	}
	c.ClientsAs = "threads"
	if _, err := (Campaign{Config: c, Testbed: sim.New()}).Run(t.Context()); !errors.As(err, &input) || !strings.Contains(err.Error(), `--clients-as "threads": expected goroutines or processes`) {
		t.Errorf("threads: got %v", err)
	}
}
