package campaign

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

func TestOnlyTheFirstTrialThatShowsAnUndeclaredFlawInItsCellIsStored(t *testing.T) {
	violated := func(k int, causes ...string) trial.Result {
		x := trial.Result{Spec: trial.Spec{Lock: "a", Fault: "b", Trial: k}, Outcome: trial.Violated, Dir: "x"}
		for _, c := range causes {
			x.Flaws = append(x.Flaws, trial.Flaw{Oracle: "exclusion", Cause: c})
		}
		return x
	}
	named := func(k int, causes ...string) trial.Result {
		x := violated(k, causes...)
		x.Spec.Schedule = "s"
		return x
	}
	elsewhere, dropped, held := violated(1, "race"), violated(1, "race"), violated(1)
	elsewhere.Spec.Fault, dropped.Dir, held.Outcome = "c", "", trial.Holds
	for name, c := range map[string]struct {
		before []trial.Result
		want   bool
	}{
		"an earlier one":  {[]trial.Result{violated(4, "race"), violated(1, "race")}, true},
		"a named one":     {[]trial.Result{named(9, "race")}, true},
		"others":          {[]trial.Result{elsewhere, dropped, held}, false}, // the flaw is undeclared, so each cell needs its own trial
		"later ones only": {[]trial.Result{violated(3, "race"), violated(4, "race")}, false},
		"another flaw":    {[]trial.Result{violated(0, "late-command")}, false},
		"more flaws":      {[]trial.Result{violated(0, "race", "late-command")}, true},
	} {
		var s shown
		for _, x := range c.before {
			s.add(x)
		}
		this := violated(3, "race")
		if got := !this.ShowsMore(s.enough(this.Spec)); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// A declared flaw is stored once for its recipe. In addition, each cell keeps the first trial with
// its worst verdict, because the report illustrates the cell with it.
func TestADeclaredFlawIsStoredOnceForItsRecipe(t *testing.T) {
	under := func(fault string, k int, kind locks.Kind, causes ...string) trial.Result {
		x := trial.Result{Spec: trial.Spec{Lock: "a", Fault: fault, Workload: "mutex", Trial: k}, Outcome: trial.Violated, Kind: kind, Dir: "x"}
		for _, c := range causes {
			x.Flaws = append(x.Flaws, trial.Flaw{Oracle: "exclusion", Cause: c, Kind: kind})
		}
		return x
	}
	doubtful := under("delay", 3, locks.Limit, "race")
	doubtful.Doubtful = []trial.Flaw{{Oracle: "ownership", Cause: "late-command"}}
	otherLock := under("delay", 1, locks.Limit, "race")
	otherLock.Spec.Lock = "b"
	before := []trial.Result{
		under("delay", 1, locks.Limit, "race"),
		under("none", 2, locks.Limit, "race", "late-command"),
		otherLock,
	}
	for _, c := range []struct {
		name string
		this trial.Result
		want bool // whether the trial is stored
	}{
		{"the same again", under("delay", 3, locks.Limit, "race"), false},
		{"what another cell showed before", under("delay", 3, locks.Limit, "late-command"), false},
		{"what another cell shows later", under("delay", 1, locks.Limit, "late-command"), true},
		{"the first of its cell", under("reset", 3, locks.Limit, "race"), true},
		{"the first flaw of its kind", under("delay", 3, locks.Limit, "no-expiry"), true},
		{"a worse verdict", under("delay", 3, locks.Bug, "race"), true},
		{"a doubt about another flaw", doubtful, true},
	} {
		var s shown
		for _, x := range before {
			s.add(x)
		}
		if got := c.this.ShowsMore(s.enough(c.this.Spec)); got != c.want {
			t.Errorf("%s: stored %t, want %t", c.name, got, c.want)
		}
	}
}

// Every stored folder belongs to a trial, even if trials end in a different order than they began,
// or are repeated. The folders of each cell show its verdict, and the folders of each recipe show
// its flaws.
func TestEveryStoredFolderBelongsToATrial(t *testing.T) {
	s := shardRun(t, func(c *Config) {
		c.Locks, c.Faults, c.Trials, c.Parallel = []string{"set-nx-ex", "setnx"}, []string{"none", "client-pause", "delay", "client-crash"}, 6, 4
	})
	var listed []string
	evidence := map[string]bool{}
	for _, x := range s.Trials {
		if x.Dir == "" {
			continue
		}
		listed = append(listed, string(filepath.Separator)+x.Dir)
		declared, ofCell := x.Sightings()
		for _, flaw := range append(declared, ofCell...) {
			evidence[x.Spec.Lock+flaw] = true
		}
	}
	slices.Sort(listed)
	stored := folders(t, s.Dir)
	slices.Sort(stored)
	if !slices.Equal(stored, listed) {
		t.Errorf("stored %q, of trials %q", stored, listed)
	}
	violated := 0
	for _, c := range s.Matrix.Cells {
		if (c.Verdict == trial.Violated || c.Verdict == trial.Blocked) && c.Dir == "" {
			t.Errorf("%s under %s has no folder", c.Lock, c.Fault)
		}
		violated += c.Violations
	}
	for _, x := range s.Trials {
		declared, ofCell := x.Sightings()
		for _, flaw := range append(declared, ofCell...) {
			if !evidence[x.Spec.Lock+flaw] {
				t.Errorf("%s: there is no evidence of %s", x.Spec.Lock, flaw)
			}
		}
	}
	if len(listed) == 0 || violated < 2*len(listed) {
		t.Errorf("%d folders of %d violated trials: expected some, but fewer than half", len(listed), violated)
	}
}
