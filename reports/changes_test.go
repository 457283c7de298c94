package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/trial"
)

// oneRelease is a campaign whose cells show these flaws, by recipe. A flaw is "oracle cause kind",
// such as "exclusion race bug". A recipe without flaws holds.
func oneRelease(dir string, trials int, cells map[string][]string) campaign.Stored {
	s := campaign.Stored{Dir: dir, Info: campaign.Info{Config: campaign.DefaultConfig(), Deterministic: true}, Matrix: campaign.Matrix{Testbed: "sim", Seed: 1}}
	s.Info.Config.Seed = 1
	for lock, flaws := range cells {
		c := campaign.Cell{Lock: lock, Fault: "delay", Verdict: trial.Holds, Trials: trials, Exercised: trials}
		t := trial.Result{Spec: trial.Spec{Lock: lock, Fault: "delay", Workload: "mutex", Testbed: "sim"}}
		for i, text := range flaws {
			words := strings.Split(text, " ")
			f := trial.Flaw{Oracle: words[0], Cause: words[1], Kind: locks.Kind(words[2])}
			c.Flaws, t.Flaws = append(c.Flaws, f), append(t.Flaws, f)
			if i == 0 {
				c.Kind, c.Verdict = f.Kind, trial.Violated
				if f.Oracle == "liveness" {
					c.Verdict = trial.Blocked
				}
			}
		}
		if lock == "unsupported" {
			c.Verdict = trial.NotSupported
		}
		s.Matrix.Cells = append(s.Matrix.Cells, c)
		for range trials {
			s.Trials = append(s.Trials, t)
		}
	}
	return s
}

func TestChangesAreToldWorstFirst(t *testing.T) {
	before := oneRelease("store/a", 2, map[string][]string{
		"same": nil, "mended": {"exclusion race bug"}, "broken": nil, "undeclared": {"exclusion race bug"},
		"limit": {"liveness no-expiry limit"}, "other": {"exclusion race bug"}, "removed": nil, "unsupported": nil,
	})
	after := oneRelease("store/b", 3, map[string][]string{
		"same": nil, "mended": nil, "broken": {"exclusion race bug"}, "undeclared": {"exclusion race bug", "fencing late-command "},
		"limit": {"exclusion lease-outlived limit"}, "other": {"exclusion foreign-delete bug"}, "added": nil, "unsupported": nil,
	})
	c := Compare(before, after)
	want := map[string]Direction{"mended": Better, "broken": Worse, "undeclared": Worse, "limit": Worse, "other": Other, "removed": Removed, "added": Added}
	if c.Both != 7 || c.Same != 2 || len(c.Cells) != len(want) {
		t.Errorf("%d in both, %d the same, %d changed; want 7, 2 and %d", c.Both, c.Same, len(c.Cells), len(want))
	}
	for _, x := range c.Cells {
		if x.Direction != want[x.Lock] {
			t.Errorf("%s is %s, want %s", x.Lock, x.Direction, want[x.Lock])
		}
	}
	for name, s := range map[string]Screen{"changes.txt": {Program: "bin/lockstorm"}, "changes-60.txt": {Width: 60}} {
		var b bytes.Buffer
		if err := WriteChanges(&b, c, before, after, s); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, name, b.Bytes())
		for line := range strings.Lines(b.String()) {
			if n := len([]rune(line)) - 1; s.Width > 0 && n > s.Width {
				t.Errorf("a line has %d columns: %s", n, line)
			}
		}
	}
}

// A cell that was violated before changes if a flaw that it showed then is now of another kind, or is now
// for ever.
func TestAFlawOfAnotherWeightIsAChange(t *testing.T) {
	before := oneRelease("store/a", 2, map[string][]string{
		"kind": {"exclusion race bug", "ownership race bug"}, "forever": {"exclusion race bug", "liveness no-expiry bug"}, "same": {"exclusion race bug"},
	})
	after := oneRelease("store/b", 2, map[string][]string{
		"kind": {"exclusion race bug", "ownership race limit"}, "forever": {"exclusion race bug", "liveness no-expiry bug"}, "same": {"exclusion race bug"},
	})
	for i, c := range after.Matrix.Cells {
		if c.Lock == "forever" {
			after.Matrix.Cells[i].Flaws[1].Forever = true
		}
	}
	c := Compare(before, after)
	if len(c.Cells) != 2 || c.Same != 1 {
		t.Fatalf("%d the same, changes %+v; want 1 and those of kind and forever", c.Same, c.Cells)
	}
	var b bytes.Buffer
	if err := WriteChanges(&b, c, before, after, Screen{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"new: ownership by race, declared limit\n", "gone: ownership by race, declared bug\n",
		"new: liveness by no-expiry, declared bug, for ever\n", "gone: liveness by no-expiry, declared bug\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it should say %q:\n%s", want, b.String())
		}
	}
}

// TestFewerTrialsAreNoImprovement: a flaw is not reported as fixed if it is only missing in fewer
// trials, such as those of an interrupted campaign.
func TestFewerTrialsAreNoImprovement(t *testing.T) {
	before := oneRelease("store/a", 30, map[string][]string{"setnx": {"liveness no-expiry bug"}, "getset": nil})
	after := oneRelease("store/b", 1, map[string][]string{"setnx": nil, "getset": {"exclusion race bug"}})
	after.Matrix.Interrupted, after.Matrix.Finished, after.Matrix.Planned = true, 2, 60
	c := Compare(before, after)
	if len(c.Cells) != 2 || c.Cells[0].Direction != Worse || c.Cells[1].Direction != Unseen {
		t.Fatalf("changes: %+v", c.Cells)
	}
	var b bytes.Buffer
	if err := WriteChanges(&b, c, before, after, Screen{}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"interrupted: 2 of 60 trials finished", "Not shown again, in fewer trials:", "not shown: liveness by no-expiry"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	for _, wrong := range []string{"Better", "gone"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the text says %q:\n%s", wrong, text)
		}
	}
}

// TestChangesOfAnOwnLockNameNoDeclaration: nobody declared the limits of a user's own lock, so the
// text must not call them declared.
func TestChangesOfAnOwnLockNameNoDeclaration(t *testing.T) {
	locks.Register(locks.Recipe{ID: "own", Own: true, Topology: locks.Single, Flaws: locks.Limits(locks.Known{})})
	t.Cleanup(func() { locks.Unregister("own") })
	before, after := oneRelease("store/a", 2, map[string][]string{"own": nil}), oneRelease("store/b", 2, map[string][]string{"own": {"exclusion lease-outlived limit", "fencing late-command "}})
	var b bytes.Buffer
	if err := WriteChanges(&b, Compare(before, after), before, after, Screen{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"exclusion by lease-outlived, limit of any lease\n", "fencing by late-command, not declared\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it should say %q:\n%s", want, b.String())
		}
	}
}
