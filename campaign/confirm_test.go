package campaign

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// The simulation confirms a campaign of the simulation: the flaws show again, and every trial except
// the probes repeats a trial of the confirmed campaign.
func TestConfirmRunsWhatShowedFlaws(t *testing.T) {
	c := small(t, "set-nx-px", "none,client-pause,split-brain")
	c.Name, c.Trials, c.Named = "first", 2, true
	first := mustRun(t, c)

	c.Name, c.Confirm, c.Named, c.Trials = "second", first.Dir, false, 1
	c.Locks, c.Faults = []string{"set-nx-px", "set-nx-ex"}, []string{"all"}
	second := mustRun(t, c)
	if len(second.Matrix.Cells) != len(first.Matrix.Cells) || len(second.Info.Sought) == 0 {
		t.Fatalf("got %d cells and %d flaws to look for, want %d cells", len(second.Matrix.Cells), len(second.Info.Sought), len(first.Matrix.Cells))
	}
	if second.Matrix.Missed != nil || second.Matrix.Unexpected != nil || second.Matrix.Interrupted {
		t.Errorf("missed %v, unexpected %v, interrupted %v", second.Matrix.Missed, second.Matrix.Unexpected, second.Matrix.Interrupted)
	}
	for _, result := range second.Trials {
		same := func(o trial.Result) bool {
			return o.Hash == result.Hash && trial.Folder(o.Spec) == trial.Folder(result.Spec)
		}
		if !result.Probe && !slices.ContainsFunc(first.Trials, same) {
			t.Errorf("%s is none of the first campaign's", trial.Folder(result.Spec))
		}
	}
	if len(second.Trials) >= len(first.Trials) {
		t.Errorf("got %d trials of %d, want fewer", len(second.Trials), len(first.Trials))
	}

	// A flaw that is sought but that no trial shows counts as missed.
	second.Info.Sought = append(second.Info.Sought, Sought{"set-nx-px", "client-pause", "ownership", "foreign-delete"})
	missed := fold(second.Info, second.Dir, second.Trials).Missed
	if len(missed) != 1 || missed[0].Cause != "foreign-delete" {
		t.Errorf("got %v, want the flaw that nobody showed", missed)
	}
	n, of := second.Confirmed()
	if want := len(second.Info.Sought); n != want-1 || of != want {
		t.Errorf("confirmed %d of %d, want %d of %d", n, of, want-1, want)
	}

	// On a testbed that is not deterministic, it is enough that a flaw shows under one of its
	// faults.
	second.Info.Deterministic = false
	second.Info.Sought = append(second.Info.Sought, Sought{"set-nx-px", "none", "exclusion", "lease-outlived"})
	if missed := fold(second.Info, second.Dir, second.Trials).Missed; len(missed) != 1 || missed[0].Cause != "foreign-delete" {
		t.Errorf("on real time: got %v, want the flaw that nobody showed", missed)
	}
}

// The stored results of the first campaign are altered: they claim a flaw for trials that do not show
// it, so that these trials are tried first. A campaign that confirms the first one must then go on to
// the trials that do show the flaw.
func TestConfirmInsists(t *testing.T) {
	c := small(t, "set-nx-px", "client-crash")
	c.Name, c.Trials, c.Named = "first", 1, true
	first := mustRun(t, c)
	shown := Sought{"set-nx-px", "client-crash", "liveness", "orphaned-key"}
	var lines []byte
	lies, ideas := 0, map[string]bool{}
	for _, result := range first.Trials {
		if result.Outcome == trial.Holds && result.Spec.Named() && lies < tries && !ideas[result.Spec.Plan[0].Idea] {
			lies++
			ideas[result.Spec.Plan[0].Idea] = true // each idea gets a turn
			result.Flaws = []trial.Flaw{{Oracle: shown.Oracle, Cause: shown.Cause}}
			result.Verdicts = []checker.Verdict{{Oracle: shown.Oracle, Result: checker.Violated, Findings: []checker.Finding{{Cause: checker.OrphanedKey, To: time.Hour}}}}
			result.Outcome = trial.Violated // a violated trial is tried first
		}
		line, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	if err := os.WriteFile(filepath.Join(first.Dir, trial.ResultsFile), lines, 0o666); err != nil {
		t.Fatal(err)
	}
	c.Name, c.Confirm, c.Named = "second", first.Dir, false
	second := mustRun(t, c)
	if n, of := second.Confirmed(); n != 1 || of != 1 || len(second.Trials) < 2+lies || second.Matrix.Interrupted || second.Matrix.Missed != nil {
		t.Errorf("confirmed %d of %d, missed %v, interrupted %v", n, of, second.Matrix.Missed, second.Matrix.Interrupted)
	}
}

// On a testbed that is not deterministic, the trials that show a flaw are repeated equally often,
// each run in a folder of its own.
func TestConfirmRunsTheSameAgain(t *testing.T) {
	s := Sought{"set-nx-px", "client-crash", "liveness", "orphaned-key"}
	f := confirmation{tried: map[string]int{}}
	for i := range 2 {
		f.trials = append(f.trials, trial.Result{
			Spec:  trial.Spec{Lock: s.Lock, Fault: s.Fault, Workload: "mutex", Trial: i},
			Flaws: []trial.Flaw{{Oracle: s.Oracle, Cause: s.Cause}},
		})
	}
	c, p := cellOf(s.Lock, s.Fault, 1)
	wanted := true
	busy := func(plannedCell) bool { return false }
	more := func(again bool) (titles []string) {
		for _, j := range f.more(p, []plannedCell{c}, func(Sought) bool { return wanted }, busy, again) {
			titles = append(titles, j.spec.Title(), trial.Folder(j.spec))
		}
		return titles
	}
	for _, want := range [][]string{
		{"trial 0", "trials/set-nx-px/client-crash/mutex-0"},
		{"trial 1", "trials/set-nx-px/client-crash/mutex-1"},
		{"trial 0, attempt 2", "trials/set-nx-px/client-crash/mutex-0-again1"},
		{"trial 1, attempt 2", "trials/set-nx-px/client-crash/mutex-1-again1"},
		{"trial 0, attempt 3", "trials/set-nx-px/client-crash/mutex-0-again2"},
	} {
		if got := more(true); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if got := more(false); got != nil {
		t.Errorf("where trials do the same again: got %v, want none", got)
	}
	wanted = false
	if got := more(true); got != nil {
		t.Errorf("of what has shown: got %v, want none", got)
	}
}

// cellOf returns a cell with the workload mutex, and a planner of that many trials that has seen its
// probe.
func cellOf(lock, fault string, trials int) (plannedCell, *planner) {
	return plannedCell{recipe: locks.Recipe{ID: lock}, fault: nemesis.Fault{Name: fault}, workloads: []string{"mutex"}},
		&planner{config: Config{Trials: trials}, seen: map[pair]nemesis.Sight{{lock, "mutex"}: {}}}
}

// Attempts at one trial are confirmed as one trial, which has the flaws of all attempts.
func TestConfirmTakesAttemptsTogether(t *testing.T) {
	c := small(t, "set-nx-px", "client-pause")
	c.Name, c.Trials = "first", 1
	first := mustRun(t, c)
	i := slices.IndexFunc(first.Trials, func(t trial.Result) bool { return !t.Probe })
	attempt := first.Trials[i]
	attempt.Spec.Attempt, attempt.Outcome = 1, trial.Violated
	attempt.Flaws = []trial.Flaw{{Oracle: "exclusion", Cause: "race"}}
	attempt.Verdicts = []checker.Verdict{{Oracle: "exclusion", Result: checker.Violated, Findings: []checker.Finding{{Cause: checker.Race}}}}
	line, err := json.Marshal(attempt)
	if err != nil {
		t.Fatal(err)
	}
	trials := filepath.Join(first.Dir, trial.ResultsFile)
	stored, err := packed.Open(trials)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := io.ReadAll(stored)
	if err := errors.Join(err, stored.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(trials, append(append(lines, line...), '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
	c.Confirm = first.Dir
	f, err := newConfirmation(&c)
	if err != nil {
		t.Fatal(err)
	}
	f.trials = slices.DeleteFunc(f.trials, func(t trial.Result) bool { return t.Probe })
	if len(f.trials) != 1 || f.trials[0].Spec.Attempt != 0 || !slices.Contains(f.trials[0].Flaws, attempt.Flaws[0]) || len(f.trials[0].Flaws) != 1+len(first.Trials[i].Flaws) {
		t.Errorf("got %d trials to confirm, first %+v; want one with the flaws of both attempts", len(f.trials), f.trials[0].Flaws)
	}
	chosen, p := cellOf("set-nx-px", "client-pause", 2)
	p.confirm = f
	if jobs := f.jobs(p, []plannedCell{chosen}); len(jobs) != 1 || jobs[0].spec.Attempt != 0 {
		t.Errorf("got %d jobs, want one", len(jobs))
	}
}

// Trials with longer violations come first. Violations longer than a tenth of the lease time count
// as equally long.
func TestConfirmTakesWhatIsHardToMiss(t *testing.T) {
	s := Sought{"set-nx-px", "delay", "exclusion", "late-command"}
	var f confirmation
	for i, length := range []time.Duration{1, 50, 0, 100, 1000} {
		f.trials = append(f.trials, trial.Result{
			Spec:  trial.Spec{Lock: s.Lock, Fault: s.Fault, Workload: "mutex", Trial: i, Options: workloads.Options{TTL: time.Second}},
			Flaws: []trial.Flaw{{Oracle: s.Oracle, Cause: s.Cause}},
			Verdicts: []checker.Verdict{{Oracle: s.Oracle, Findings: []checker.Finding{
				{Cause: checker.LateCommand, To: length * time.Millisecond}, {Cause: checker.Race, To: time.Hour},
			}}},
		})
	}
	c, _ := cellOf(s.Lock, s.Fault, 1)
	sought, by := f.candidates(c)
	var order []int
	for _, result := range by[s] {
		order = append(order, result.Spec.Trial)
	}
	if want := []int{3, 4, 1, 0, 2}; !slices.Equal(order, want) || len(sought) != 1 {
		t.Errorf("got %v of %v, want %v", order, sought, want)
	}
}

// showsAnywhere reports whether a trial showed the flaw under any fault under which the flaw is
// sought. showsSomething reports whether a trial of the flaw's own cell showed any sought flaw.
func TestConfirmWantsEveryCellToShowSomething(t *testing.T) {
	here, there := Sought{"redlock", "lost-reply", "liveness", "orphaned-key"}, Sought{"redlock", "partition", "liveness", "orphaned-key"}
	also := Sought{"redlock", "lost-reply", "exclusion", "race"}
	for _, tt := range []struct {
		shown               []Sought
		anywhere, something bool
	}{
		{nil, false, false},
		{[]Sought{there}, true, false},
		{[]Sought{also}, false, true},
		{[]Sought{here}, true, true},
	} {
		h := hunt{info: Info{Sought: []Sought{here, there, also}}, flaws: map[cellFlaw]bool{}}
		for _, s := range tt.shown {
			h.flaws[cellFlaw{s.Lock, s.Fault, s.Oracle, s.Cause}] = true
		}
		if a, b := h.showsAnywhere(here), h.showsSomething(here); a != tt.anywhere || b != tt.something {
			t.Errorf("%v: got %v and %v, want %v and %v", tt.shown, a, b, tt.anywhere, tt.something)
		}
	}
}

// Trials with equally long violations take turns by the ideas of their plans.
func TestConfirmVaries(t *testing.T) {
	var trials []trial.Result
	for i, idea := range []string{"a", "a", "b", "a", "b", "c"} {
		trials = append(trials, trial.Result{Spec: trial.Spec{Lock: "redlock", Trial: i, Plan: nemesis.Plan{{Idea: "slow"}, {Idea: idea}}}})
	}
	var order []int
	for _, result := range (Sought{}).varied(trials) {
		order = append(order, result.Spec.Trial)
	}
	if want := []int{0, 2, 5, 1, 4, 3}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

// A flaw that only a probe showed is sought as well.
func TestConfirmKnowsWhatProbesShowed(t *testing.T) {
	c := small(t, "rw-two-keys", "none")
	c.Name, c.Trials = "first", 1
	first := mustRun(t, c)
	if !slices.ContainsFunc(first.Trials, func(t trial.Result) bool { return t.Probe && t.Violation() }) {
		t.Fatal("no probe shows a flaw: expected one of a recipe that is broken without a fault")
	}
	c.Name, c.Confirm = "second", first.Dir
	second := mustRun(t, c)
	if n, of := second.Confirmed(); n != of || of != len(first.Matrix.Cells[0].Flaws) || second.Matrix.Missed != nil {
		t.Errorf("confirmed %d of %d, missed %v: want all of %v", n, of, second.Matrix.Missed, first.Matrix.Cells[0].Flaws)
	}
}

// In cells without flaws, decided trials run first.
func TestConfirmDrawsWhatWasExercised(t *testing.T) {
	var f confirmation
	for i, outcome := range []trial.Outcome{trial.NotExercised, trial.Unknown, trial.Holds, trial.NotExercised, trial.Holds} {
		f.trials = append(f.trials, trial.Result{Spec: trial.Spec{Lock: "redlock", Fault: "client-skew", Workload: "mutex", Trial: i}, Outcome: outcome})
	}
	c, _ := cellOf("redlock", "client-skew", 1)
	var order []int
	for _, s := range f.drawn(c, 3) {
		order = append(order, s.Trial)
	}
	if want := []int{2, 4, 0}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

// In cells without flaws, other trials run if the fault hit nothing.
func TestConfirmGoesOnWhereAFaultHitNothing(t *testing.T) {
	f := confirmation{tried: map[string]int{}}
	for i, outcome := range []trial.Outcome{trial.NotExercised, trial.Holds, trial.Holds} {
		f.trials = append(f.trials, trial.Result{Spec: trial.Spec{Lock: "redisson", Fault: "client-skew", Workload: "mutex", Trial: i}, Outcome: outcome})
	}
	c, p := cellOf("redisson", "client-skew", 1)
	p.confirm = &f
	r := &run{planner: p}
	var order []int
	ran := func(jobs []job, outcome trial.Outcome) {
		for _, j := range jobs {
			order = append(order, j.spec.Trial)
			r.trials = append(r.trials, trial.Result{Spec: j.spec, Outcome: outcome})
		}
	}
	wanted := func(Sought) bool { return true }
	ran(f.jobs(p, []plannedCell{c}), trial.NotExercised)
	ran(f.more(p, []plannedCell{c}, wanted, r.idle, true), trial.Holds)
	ran(f.more(p, []plannedCell{c}, wanted, r.idle, true), trial.Holds)
	if want := []int{1, 2}; !slices.Equal(order, want) {
		t.Errorf("ran %v, want %v", order, want)
	}
}

// A flaw counts as missed if the testbed does not support its fault.
func TestConfirmMissesWhatIsNotSupported(t *testing.T) {
	c := small(t, "set-nx-px", "none,node-clock")
	c.Name, c.Trials, c.Named = "first", 2, true
	first := mustRun(t, c)

	c.Name, c.Confirm, c.Named, c.Trials = "second", first.Dir, false, 1
	second := complete(t, Campaign{Config: c, Testbed: timeless{sim.New()}})
	if n, of := second.Confirmed(); n != 0 || of == 0 || len(second.Matrix.Missed) == 0 || second.Matrix.ExitCode(true) != ExitUnexpected {
		t.Errorf("confirmed %d of %d, missed %v, exit code %d: want none, and exit code %d",
			n, of, second.Matrix.Missed, second.Matrix.ExitCode(true), ExitUnexpected)
	}
}

// timeless is a testbed whose nodes' clocks cannot be set.
type timeless struct{ *sim.Testbed }

func (b timeless) Capabilities() []testbed.Capability {
	return slices.DeleteFunc(b.Testbed.Capabilities(), func(c testbed.Capability) bool { return c == testbed.CanNodeClocks })
}

func TestConfirmRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*Config)
		want string
	}{
		"no campaign":         {func(c *Config) { c.Confirm = t.TempDir() }, "expected the directory of a stored campaign"},
		"named schedules too": {func(c *Config) { c.Confirm, c.Named = "x", true }, "expected no named"},
	} {
		t.Run(name, func(t *testing.T) {
			config := small(t, "all", "all")
			c.set(&config)
			_, err := Campaign{Config: config, Testbed: sim.New()}.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}
