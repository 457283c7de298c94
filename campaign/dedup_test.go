package campaign

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// A declared flaw is stored once for its recipe, an undeclared one, or a doubt about it, once for each cell. In addition,
// each cell keeps the first trial with its worst verdict, because the report illustrates the cell with it.
func TestATrialIsStoredIfEarlierOnesDoNotShowAsMuch(t *testing.T) {
	under := func(fault string, k int, kind locks.Kind, causes ...string) trial.Result {
		x := trial.Result{Spec: trial.Spec{Lock: "a", Fault: fault, Workload: "mutex", Trial: k}, Outcome: trial.Violated, Kind: kind, Dir: "x"}
		for _, c := range causes {
			x.Flaws = append(x.Flaws, trial.Flaw{Oracle: "exclusion", Cause: c, Kind: kind})
		}
		return x
	}
	undeclared := func(k int, causes ...string) trial.Result { return under("delay", k, "", causes...) }
	named, elsewhere, dropped, held := undeclared(9, "race"), under("reset", 1, "", "race"), undeclared(1, "race"), undeclared(1)
	named.Spec.Schedule, dropped.Dir, held.Outcome = "s", "", trial.Holds
	doubtful, otherLock := under("delay", 3, locks.Limit, "race"), under("delay", 1, locks.Limit, "race")
	doubtful.Doubtful, otherLock.Spec.Lock = []trial.Flaw{{Oracle: "ownership", Cause: "late-command"}}, "b"
	declared := []trial.Result{under("delay", 1, locks.Limit, "race"), under("none", 2, locks.Limit, "race", "late-command"), otherLock}
	for _, c := range []struct {
		name   string
		before []trial.Result
		this   trial.Result
		want   bool // whether the trial is stored
	}{
		{"undeclared: after an earlier one", []trial.Result{undeclared(4, "race"), undeclared(1, "race")}, undeclared(3, "race"), false},
		{"undeclared: after a named one", []trial.Result{named}, undeclared(3, "race"), false},
		{"undeclared: after one of another cell, one without a folder, and one that holds", []trial.Result{elsewhere, dropped, held}, undeclared(3, "race"), true},
		{"undeclared: before later ones", []trial.Result{undeclared(3, "race"), undeclared(4, "race")}, undeclared(3, "race"), true},
		{"undeclared: after another flaw", []trial.Result{undeclared(0, "late-command")}, undeclared(3, "race"), true},
		{"undeclared: after more flaws", []trial.Result{undeclared(0, "race", "late-command")}, undeclared(3, "race"), false},
		{"the same again", declared, under("delay", 3, locks.Limit, "race"), false},
		{"what another cell showed before", declared, under("delay", 3, locks.Limit, "late-command"), false},
		{"what another cell shows later", declared, under("delay", 1, locks.Limit, "late-command"), true},
		{"the first of its cell", declared, under("reset", 3, locks.Limit, "race"), true},
		{"the first flaw of its kind", declared, under("delay", 3, locks.Limit, "no-expiry"), true},
		{"a worse verdict", declared, under("delay", 3, locks.Bug, "race"), true},
		{"a doubt about another flaw", declared, doubtful, true},
	} {
		var s shown
		for _, x := range c.before {
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
