package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// searched runs a small campaign whose budget ends after the given number of rounds. quiet may replace
// leastQuiet.
func searched(t *testing.T, rounds int, change func(*Config), quiet ...int) Stored {
	t.Helper()
	c := small(t, "set-nx-px,setnx", "none,delay,reset")
	c.Workloads = []string{"mutex"}
	c.Trials, c.Parallel, c.Budget = 1, 1, time.Hour
	change(&c)
	s := complete(t, Campaign{Config: c, Testbed: sim.New(), over: func(k int) bool { return k >= c.Trials+rounds }, quiet: append(quiet, 0)[0]})
	return s
}

// Further trials count like planned ones. A campaign whose budget allows n rounds has the same
// cells as a campaign with n more planned trials, but stores fewer trials.
func TestFurtherTrialsCountLikePlannedOnes(t *testing.T) {
	const rounds = 11
	planned := shardRun(t, func(c *Config) {
		c.Locks, c.Faults, c.Named, c.Trials = []string{"set-nx-px", "setnx"}, []string{"none", "delay", "reset"}, false, 1+rounds
	})
	s := searched(t, rounds, func(c *Config) { c.Parallel = 4 })
	again, err := Load(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range planned.Matrix.Cells {
		for _, got := range []Cell{s.Matrix.Cells[i], again.Matrix.Cells[i]} {
			got.Replay, want.Replay, got.UndecidedDir, want.UndecidedDir = "", "", "", "" // these fields depend on the campaign's own options
			if !equalJSON(t, got, want) || !slices.Equal(got.Flaws, want.Flaws) || got.Words() != want.Words() || got.BoundWords() != want.BoundWords() {
				t.Errorf("the cell is\n%+v\nwant\n%+v", got, want)
			}
		}
	}
	f := s.Matrix.Further
	if f == nil || f.Rounds != rounds || f.Trials != 2*3*rounds || s.Matrix.Interrupted {
		t.Errorf("further trials: %+v; interrupted: %t", f, s.Matrix.Interrupted)
	}
	if len(s.Trials) >= len(planned.Trials) {
		t.Errorf("%d trials are stored, as many as without a budget", len(s.Trials))
	}
	if got, want := s.Virtual(), planned.Virtual(); got != want {
		t.Errorf("%v of virtual time, want %v", got, want)
	}
	var stored []string
	for _, c := range s.Trials {
		if c.Dir != "" {
			stored = append(stored, "/"+filepath.ToSlash(c.Dir))
		}
	}
	slices.Sort(stored)
	if got := folders(t, s.Dir); !slices.Equal(got, stored) {
		t.Errorf("folders %q, want %q", got, stored)
	}
}

func TestFurtherTrialsOfShardsAddUp(t *testing.T) {
	of := func(shard Shard) Stored {
		return searched(t, 5, func(c *Config) { c.Locks, c.Shard = []string{"set-nx-px", "redlock"}, shard })
	}
	whole := of(Shard{})
	var dirs []string
	for i := 1; i <= 2; i++ {
		dirs = append(dirs, of(Shard{i, 2}).Dir)
	}
	m, err := merge(t, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range whole.Matrix.Cells {
		got := m.Matrix.Cells[i]
		// Each shard counts its own further trials.
		if got.LastNew = want.LastNew; !equalJSON(t, got, want) {
			t.Errorf("the cell is\n%+v\nwant\n%+v", got, want)
		}
	}
	if got, want := m.Matrix.Further, whole.Matrix.Further; got.Rounds != want.Rounds || got.Trials != want.Trials {
		t.Errorf("further trials: %+v, want %+v", got, want)
	}
}

func TestKnowledgeOfACellIsWhatItsTrialsShowed(t *testing.T) {
	holds := trial.Result{Outcome: trial.Holds, Verdicts: []checker.Verdict{{Oracle: "exclusion", Result: checker.Held}}}
	broken := trial.Result{Outcome: trial.Violated, Flaws: []trial.Flaw{{Oracle: "exclusion", Cause: "race"}}}
	other := broken
	other.Spec.Lock = "redlock"
	known := knowledge{}
	for i, step := range []struct {
		t          trial.Result
		news, flaw bool
		behaviour  bool
	}{
		{holds, true, false, false}, {holds, false, false, false},
		{broken, true, true, false}, {broken, false, false, false}, {other, true, true, false},
		{trial.Result{Outcome: trial.Unknown, Err: "no server"}, true, false, false},
		{trial.Result{Outcome: trial.Holds, Verdicts: []checker.Verdict{{Oracle: "liveness", Result: checker.Held}}}, true, false, false},
		{trial.Result{Outcome: trial.Holds, Doubtful: broken.Flaws}, true, false, false},
		{trial.Result{Outcome: trial.Holds, Operations: []string{"acquire ok", "release ok"}}, true, false, true},
		{trial.Result{Outcome: trial.Holds, Operations: []string{"release ok"}}, false, false, false},
	} {
		if news, flaw, behaviour := known.learn(step.t); news != step.news || flaw != step.flaw || behaviour != step.behaviour {
			t.Errorf("step %d: news %t, flaw %t, behaviour %t; want %t, %t, %t", i, news, flaw, behaviour, step.news, step.flaw, step.behaviour)
		}
	}
}

func TestCellsThatShowNothingNewRest(t *testing.T) {
	cell := func(lock string) plannedCell {
		return plannedCell{recipe: locks.Recipe{ID: lock}, fault: nemesis.Fault{Name: "delay"}, workloads: []string{"mutex"}}
	}
	lacking := cell("c")
	lacking.lack = &nemesis.Unsupported{}
	a := newAttention([]plannedCell{cell("a"), cell("b"), lacking}, 2)
	for i, step := range []struct {
		lock  string // the lock whose further trial ends before this step; "" for none
		new   bool   // the trial showed a new behaviour
		awake string
	}{
		{"", false, "ab"}, {"a", false, "ab"}, {"a", false, "b"},
		{"b", true, "b"}, {"b", false, "b"},
		{"b", false, "ab"}, // all have rested: twice as many trials are due
		{"a", true, "ab"}, {"b", false, "ab"}, {"b", false, "a"},
	} {
		if step.lock != "" {
			a.saw(trial.Result{Spec: trial.Spec{Lock: step.lock, Fault: "delay"}}, step.new)
		}
		names := ""
		for _, c := range a.awake() {
			names += c.recipe.ID
		}
		if names != step.awake {
			t.Errorf("step %d: cells %q are awake, want %q", i, names, step.awake)
		}
	}
	a.giveUp([]plannedCell{cell("a")})
	if got := a.awake(); len(got) != 1 || got[0].recipe.ID != "b" {
		t.Errorf("after giving up a, %d cells are awake, want b alone", len(got))
	}
	a.giveUp([]plannedCell{cell("b")})
	if got := a.awake(); len(got) > 0 {
		t.Errorf("all cells were given up, but %d are awake", len(got))
	}
}

func TestASearchTriesLessOftenWhatShowsNothingNew(t *testing.T) {
	const rounds = 150 // a batch of leastBatch trials is 100 rounds of two cells
	s := searched(t, rounds, func(c *Config) { c.Locks, c.Faults = []string{"set-nx-px"}, []string{"none", "reset"} }, 15)
	least, most := rounds, 0
	for _, c := range s.Info.Further.Cells {
		least, most = min(least, c.Ran), max(most, c.Ran)
		if c.LastNew > c.Ran || c.Ran < 15 {
			t.Errorf("%+v: a cell rests after 15 further trials", c)
		}
	}
	if least == most || most > rounds {
		t.Errorf("cells have between %d and %d further trials in %d rounds: want different numbers", least, most, rounds)
	}
	for _, c := range s.Matrix.Cells {
		if c.LastNew < 1 || c.LastNew > c.Trials {
			t.Errorf("%s under %s: the last new behaviour came in trial %d of %d", c.Lock, c.Fault, c.LastNew, c.Trials)
		}
	}
}

// If a campaign is killed during the search, the saved counts must not be ahead of trials.jsonl: each
// counted further trial that is stored, not merely tallied, must have its line there. The verdict of a
// cell rests on these lines.
func TestAKilledSearchHasTheTrialsThatItCounts(t *testing.T) {
	c := small(t, "setnx,set-nx-px", "client-crash,delay")
	c.Workloads = []string{"mutex"}
	c.Named, c.Trials, c.Parallel, c.Budget = false, 1, 1, time.Hour
	killed, asked := filepath.Join(t.TempDir(), "killed"), 0
	over := func(int) bool {
		if latest := filepath.Join(c.Store, Latest); asked == 2*leastBatch { // inside the second batch
			if err := os.CopyFS(killed, os.DirFS(latest)); err != nil {
				t.Error(err)
			}
		}
		asked++
		return asked > 3*leastBatch
	}
	if _, err := (Campaign{Config: c, Testbed: sim.New(), over: over}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := Load(killed)
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for _, r := range s.Trials {
		if !r.Spec.Named() && r.Spec.Trial >= c.Trials {
			listed++
		}
	}
	f := s.Info.Further
	if f == nil || f.Trials < leastBatch {
		t.Fatalf("the copy has %+v: want the counts of a batch", f)
	}
	if want := f.Trials - f.tallied(); listed < want || want == 0 {
		t.Errorf("the copy lists %d further trials, want the %d that it does not merely count", listed, want)
	}
}

func TestBudgetIsRefusedOnRealTime(t *testing.T) {
	c := DefaultConfig()
	c.Store, c.Budget = t.TempDir(), time.Hour
	_, err := Campaign{Config: c, Testbed: &trialtest.Bed{Real: true}}.Run(t.Context())
	if _, bad := errors.AsType[*input.Error](err); !bad || !strings.Contains(err.Error(), "cannot be run again") {
		t.Errorf("on real time: %v", err)
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	first, err1 := json.Marshal(a)
	second, err2 := json.Marshal(b)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(first, second)
}
