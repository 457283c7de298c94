package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// fakeConfig is a small campaign over the fake testbed.
func fakeConfig(dir string, locks ...string) Config {
	c := DefaultConfig()
	c.Locks, c.Faults, c.Testbed, c.Store = locks, []string{undisturbed}, "fake", dir
	c.Duration, c.Trials, c.Parallel = time.Second, 3, 2
	return c
}

// tally is a sink that counts its calls.
type tally struct {
	trials   []trial.Result
	acquires int
	done     int
	fail     error
}

func (s *tally) Trial(_ context.Context, t trial.Result) error {
	s.trials = append(s.trials, t)
	s.acquires += len(t.Acquires)
	return s.fail
}

func (s *tally) Done(context.Context, Stored) error { s.done++; return nil }

// inBubble runs a campaign on virtual time.
func inBubble(t *testing.T, c Campaign, then func(t *testing.T, s Stored, err error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := c.Run(t.Context())
		then(t, s, err)
	})
}

func TestCampaignRunsEveryCellAndStoresWhatItFound(t *testing.T) {
	dir, bed, sink := t.TempDir(), &trialtest.Bed{}, &tally{}
	var last Progress
	c := Campaign{
		Config: fakeConfig(dir, trialtest.Sound, trialtest.Broken), Command: "lockstorm run", Testbed: bed,
		NewSink:  func(string) (Sink, error) { return sink, nil },
		Progress: func(p Progress) { last = p },
	}
	inBubble(t, c, func(t *testing.T, s Stored, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if bed.Most != 2 || len(bed.Seeds) != 12 || s.Reproduced != 6 {
			t.Errorf("%d trials, at most %d at a time, and %d repeated; want 12, 2 and 6", len(bed.Seeds), bed.Most, s.Reproduced)
		}
		if last.Trial == nil || last.Virtual <= 0 {
			t.Errorf("progress tells no trial or no virtual time: %+v", last)
		}
		if want := (Progress{Done: 6, Total: 6, Violations: 3, Virtual: last.Virtual, Trial: last.Trial}); last != want {
			t.Errorf("progress ended at %+v, want %+v", last, want)
		}
		if len(sink.trials) != 6 || sink.done != 1 || sink.acquires == 0 {
			t.Errorf("sink got %d trials and %d ends", len(sink.trials), sink.done)
		}
		broken, sound := s.Matrix.Cells[0], s.Matrix.Cells[1]
		if broken.Lock != trialtest.Broken || broken.Verdict != trial.Violated || broken.Violations != 3 || broken.Trials != 3 {
			t.Errorf("broken lock's cell is %+v", broken)
		}
		if sound.Lock != trialtest.Sound || sound.Verdict != trial.Holds || sound.Exercised != 3 || sound.Words() != "no violation in 3 trials" {
			t.Errorf("sound lock's cell is %+v", sound)
		}
		checkStore(t, s)
	})
}

// checkStore checks that a finished campaign has kept the folders of violated trials only, and that
// the folders give the hash and the verdicts of the run.
func checkStore(t *testing.T, s Stored) {
	t.Helper()
	for _, result := range s.Trials {
		folder := filepath.Join(s.Dir, trial.Folder(result.Spec))
		_, err := os.Stat(folder)
		// Later trials show the same flaw as the first one, so they are not kept.
		kept, first := err == nil, result.Spec.Trial == 0
		if kept && !result.Violation() || first && kept != result.Violation() || kept != (result.Dir != "") {
			t.Errorf("%s: kept %v, outcome %s, dir %q", folder, kept, result.Outcome, result.Dir)
		}
		if !kept {
			continue
		}
		r, err := trial.LoadRecord(folder)
		if err != nil {
			t.Fatal(err)
		}
		if h := history.Hash(r.Evidence); h != result.Hash {
			t.Errorf("%s: stored history has hash %s, want %s", folder, h, result.Hash)
		}
		again, err := trial.Judge(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(again.Verdicts)
		want, _ := json.Marshal(result.Verdicts)
		if string(got) != string(want) || again.Outcome != result.Outcome {
			t.Errorf("%s: judged again: %s, want %s", folder, got, want)
		}
	}
	loaded, err := Load(filepath.Join(s.Info.Config.Store, Latest))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(loaded.Matrix)
	want, _ := json.Marshal(s.Matrix)
	if string(got) != string(want) {
		t.Errorf("loaded matrix is\n%s\nwant\n%s", got, want)
	}
}

func TestSeedsDoNotDependOnWhatRunsBeside(t *testing.T) {
	seeds := func(locks ...string) []uint64 {
		bed := &trialtest.Bed{}
		inBubble(t, Campaign{Config: fakeConfig(t.TempDir(), locks...), Testbed: bed}, func(t *testing.T, _ Stored, err error) {
			if err != nil {
				t.Fatal(err)
			}
		})
		return bed.Seeds
	}
	alone, both := seeds(trialtest.Sound), seeds(trialtest.Sound, trialtest.Broken)
	for _, seed := range alone {
		if !slices.Contains(both, seed) {
			t.Errorf("seed %d of the lock alone is not among %v", seed, both)
		}
		if seed > trial.MaxSeed {
			t.Errorf("seed %d is above 2^53", seed)
		}
	}
}

func TestAFailingTrialIsReportedAndEndsNothing(t *testing.T) {
	first := trialSeed(1, trialtest.Sound, undisturbed, "mutex", 1)
	bed := &trialtest.Bed{Fail: func(s testbed.Setup) error {
		if s.Seed == first {
			return errors.New("redis-server died")
		}
		return nil
	}}
	inBubble(t, Campaign{Config: fakeConfig(t.TempDir(), trialtest.Sound), Testbed: bed}, func(t *testing.T, s Stored, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Trials) != 3 || len(s.Matrix.Failed) != 1 || !strings.Contains(s.Matrix.Failed[0].Err, "redis-server died") {
			t.Errorf("%d trials, failed: %+v", len(s.Trials), s.Matrix.Failed)
		}
		if c := s.Matrix.Cells[0]; c.Verdict != trial.Unknown || c.Why != "redis-server died" {
			t.Errorf("cell is %+v", c)
		}
		if code := s.Matrix.ExitCode(false); code != ExitHarness {
			t.Errorf("exit code %d, want %d", code, ExitHarness)
		}
		if s.Matrix.Failed[0].Dir == "" {
			t.Error("the failed trial's folder is gone")
		}
	})
}

func TestAnInterruptedCampaignKeepsWhatIsFinished(t *testing.T) {
	raced(t)
	c := Campaign{Config: fakeConfig(t.TempDir(), trialtest.Sound), Testbed: &trialtest.Bed{}}
	c.Config.Trials = 50
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		s, err := c.Run(ctx)
		if err != nil || !s.Matrix.Interrupted {
			t.Fatalf("interrupted %v, %v", s.Matrix.Interrupted, err)
		}
		if n := len(s.Trials); n == 0 || n >= 50 || len(s.Matrix.Failed) > 0 {
			t.Errorf("%d trials of 50, %d failed", n, len(s.Matrix.Failed))
		}
		loaded, err := Load(s.Dir)
		if err != nil || len(loaded.Trials) != len(s.Trials) {
			t.Errorf("loaded %d trials, %v; want %d", len(loaded.Trials), err, len(s.Trials))
		}
	})
}

// A stopped campaign finishes the trials under way: it judges and stores them.
func TestAStoppedCampaignFinishesTheTrialsUnderWay(t *testing.T) {
	raced(t)
	c := Campaign{Config: fakeConfig(t.TempDir(), trialtest.Sound), Testbed: &trialtest.Bed{}}
	c.Config.Trials, c.Config.Parallel = 50, 1
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		c.Stop = stop
		begun := 0
		c.Progress = func(p Progress) {
			if begun++; begun == 3 {
				time.AfterFunc(time.Millisecond, func() { close(stop) }) // the fourth trial is under way
			}
		}
		s, err := c.Run(t.Context())
		if err != nil || !s.Matrix.Interrupted {
			t.Fatalf("interrupted %v, %v", s.Matrix.Interrupted, err)
		}
		if n := len(s.Trials); n != 4 || s.Matrix.Finished != 4 || len(s.Matrix.Failed) > 0 {
			t.Errorf("%d trials, %d finished, %d failed; want 4, 4 and none", n, s.Matrix.Finished, len(s.Matrix.Failed))
		}
	})
}

// littering is a testbed that cannot be torn down completely when it is interrupted.
type littering struct{ *trialtest.Bed }

func (l littering) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	err := l.Bed.Run(ctx, s, body)
	if ctx.Err() != nil {
		err = testbed.JoinErrors(err, &testbed.TeardownError{Err: errors.New("3 keys stay")})
	}
	return err
}

func TestAnInterruptedCampaignTellsWhatItLeftBehind(t *testing.T) {
	c := Campaign{Config: fakeConfig(t.TempDir(), trialtest.Sound), Testbed: littering{&trialtest.Bed{}}}
	c.Config.Trials = 50
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		s, err := c.Run(ctx)
		if err == nil || !strings.Contains(err.Error(), "3 keys stay") || len(s.Trials) == 0 {
			t.Errorf("%d trials, error %v; want those that were finished, and what stays", len(s.Trials), err)
		}
	})
}

func TestAStoreThatCannotBeWrittenRunsNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	bed := &trialtest.Bed{}
	_, err := Campaign{Config: fakeConfig(file, trialtest.Sound), Testbed: bed}.Run(t.Context())
	var wrong *input.Error
	if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "store "+file+": expected a directory that can be written") || len(bed.Seeds) > 0 {
		t.Errorf("got %v after %d trials", err, len(bed.Seeds))
	}
}

func TestASinkThatFailsEndsTheCampaign(t *testing.T) {
	sink := &tally{fail: errors.New("disk full")}
	c := Campaign{
		Config: fakeConfig(t.TempDir(), trialtest.Sound), Testbed: &trialtest.Bed{},
		NewSink: func(string) (Sink, error) { return sink, nil },
	}
	inBubble(t, c, func(t *testing.T, s Stored, err error) {
		if err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("got %v, want the sink's error", err)
		}
		if len(s.Trials) == 3 {
			t.Error("trials went on")
		}
	})
}

func TestACampaignThatCanTestNothingIsBadUsageAndLeavesNothing(t *testing.T) {
	tests := map[string]func(*Config){
		"none of the chosen workloads suits": func(c *Config) { c.Workloads = []string{"read-write"} },
		"failover":                           func(c *Config) { c.Faults = []string{"failover"} },
		"client-pause":                       func(c *Config) { c.Faults, c.Duration = []string{"client-pause"}, time.Millisecond },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			c := fakeConfig(t.TempDir(), trialtest.Sound)
			change(&c)
			inBubble(t, Campaign{Config: c, Testbed: &trialtest.Bed{}}, func(t *testing.T, _ Stored, err error) {
				var wrong *input.Error
				if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "nothing can be tested") {
					t.Errorf("got %v, want an InputError", err)
				}
				if _, err := os.Lstat(filepath.Join(c.Store, Latest)); err == nil {
					t.Error("latest was moved")
				}
				if left, _ := filepath.Glob(filepath.Join(c.Store, c.Name, "*")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		})
	}
}

// If the testbed claims a capability that its environments turn out to lack, Run returns an
// input.Error, as for a wrong configuration.
func TestWhatTheRunningWorldsCannotDoIsBadUsageToo(t *testing.T) {
	c := fakeConfig(t.TempDir(), trialtest.Sound)
	c.Faults, c.Duration = []string{"client-pause"}, 5*time.Second
	inBubble(t, Campaign{Config: c, Testbed: &trialtest.Bed{}}, func(t *testing.T, s Stored, err error) {
		var wrong *input.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "nothing can be tested") || len(s.Trials) == 0 {
			t.Errorf("got %v after %d trials, want an InputError", err, len(s.Trials))
		}
	})
}

func TestConfigurationErrorsNameTheSetting(t *testing.T) {
	tests := map[string]func(*Config){
		"clients -1":                     func(c *Config) { c.Clients = -1 },
		"keys -1":                        func(c *Config) { c.Keys = -1 },
		"ttl 1ms":                        func(c *Config) { c.TTL = time.Millisecond },
		"hold -1s":                       func(c *Config) { c.Hold = -time.Second },
		"rest -1s":                       func(c *Config) { c.Rest = -time.Second },
		"overrun 2":                      func(c *Config) { c.Overrun = 2 },
		"duration 0s":                    func(c *Config) { c.Duration = 0 },
		"trials -1":                      func(c *Config) { c.Trials = -1 },
		"seed 9007":                      func(c *Config) { c.Seed = trial.MaxSeed + 1 },
		"parallel -1":                    func(c *Config) { c.Parallel = -1 },
		"nodes 99":                       func(c *Config) { c.Nodes = 99 },
		"timeout -1s":                    func(c *Config) { c.Timeout = -time.Second },
		`name "../x"`:                    func(c *Config) { c.Name = "../x" },
		`name "latest"`:                  func(c *Config) { c.Name = Latest },
		"store: expected":                func(c *Config) { c.Store = "" },
		`unknown lock "tset"`:            func(c *Config) { c.Locks = []string{"tset"} },
		`unknown fault "non"`:            func(c *Config) { c.Faults = []string{"non"} },
		`unknown workload`:               func(c *Config) { c.Workloads = []string{"mutx"} },
		`"ring": expected one of single`: func(c *Config) { c.Topology = "ring" },

		"command-timeout -1s: expected 1ms to 1m0s":    func(c *Config) { c.CommandTimeout = -time.Second },
		"command-timeout 500ns: expected 1ms to 1m0s":  func(c *Config) { c.CommandTimeout = 500 },
		"command-timeout 2m0s: expected 1ms to 1m0s, ": func(c *Config) { c.CommandTimeout = 2 * time.Minute },
		"sweep -1: expected 0 to 100":                  func(c *Config) { c.Sweep = -1 },
		"sweep 101: expected 0 to 100":                 func(c *Config) { c.Sweep = 101 },
		"sweep 1: expected the named schedules":        func(c *Config) { c.Sweep = 1 },
		"named-only: expected the named schedules":     func(c *Config) { c.NamedOnly = true },
		"trials 3: expected none with named-only":      func(c *Config) { c.Named, c.NamedOnly = true, true },
		"budget -1ns: expected a positive duration":    func(c *Config) { c.Budget = -1 },
		"budget 1h0m0s: expected neither named-only":   func(c *Config) { c.Named, c.NamedOnly, c.Trials, c.Budget = true, true, 0, time.Hour },
	}
	for want, change := range tests {
		c := fakeConfig(t.TempDir(), trialtest.Sound)
		change(&c)
		_, err := Campaign{Config: c, Testbed: &trialtest.Bed{}}.Run(t.Context())
		var wrong *input.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want an InputError with %q in one line", err, want)
		}
	}
}
