package campaign

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// drawn returns a fault-free trial of a lottery, in which the lock held. If again is set, a later
// holder drew a second time, so that the oracle "draws" is violated.
func drawn(lock, workload string, again bool) trial.Result {
	t := trial.Result{Spec: trial.Spec{Lock: lock, Workload: workload, Fault: "none"}}
	t.Verdicts = []checker.Verdict{{Oracle: "exclusion", Result: checker.Held}, {Oracle: "draws", Result: checker.Held}}
	if again {
		t.Verdicts[1] = checker.Verdict{Oracle: "draws", Result: checker.Violated, Findings: []checker.Finding{{Cause: checker.Unmarked}}}
	}
	t.Weigh(nil)
	return t
}

func TestAFlawOfTheProgramIsNoneOfTheLock(t *testing.T) {
	for _, c := range []struct {
		workload   string
		again      bool
		programs   int
		unexpected int
		missed     int
	}{
		{"lottery-unmarked", true, 1, 0, 0},
		{"lottery-unmarked", false, 0, 0, 1},
		{"lottery", true, 1, 1, 0},
		{"lottery", false, 0, 0, 0},
	} {
		info := Info{Config: DefaultConfig(), Plan: []PlannedCell{{Lock: "set-nx-px", Fault: "none", Workloads: []string{c.workload}}}}
		info.Config.Trials = 1
		m := fold(info, "", []trial.Result{drawn("set-nx-px", c.workload, c.again)})
		cell := m.Cells[0]
		if cell.Verdict != trial.Holds || cell.Violations != 0 || len(cell.Flaws) != 0 {
			t.Errorf("%s, again %v: the cell says %s with %v", c.workload, c.again, cell.Verdict, cell.Flaws)
		}
		missed := slices.DeleteFunc(m.Missed, func(s Discrepancy) bool { return s.Oracle != "draws" })
		if len(m.Programs) != c.programs || len(m.Unexpected) != c.unexpected || len(missed) != c.missed {
			t.Errorf("%s, again %v: %v of programs, not declared %v, missed %v", c.workload, c.again, m.Programs, m.Unexpected, missed)
		}
	}
}

func TestAWorkloadOfADocumentRunsUnaskedForItsRecipesAlone(t *testing.T) {
	w, _ := workloads.ByName("lottery-unmarked")
	for _, c := range []struct {
		choice      []string
		lock, fault string
		want        bool
	}{
		{[]string{standardNames}, "setnx", undisturbed, true},
		{[]string{standardNames}, "set-nx-px", undisturbed, true}, // set-nx-px also cites the workload's document
		{[]string{standardNames}, "set-nx-px", "delay", false},
		{[]string{standardNames}, "getset", undisturbed, false},
		{[]string{standardNames, " "}, "getset", undisturbed, false},
		{[]string{standardNames, "lottery-unmarked"}, "getset", undisturbed, true},
		{[]string{standardNames, "lottery-unmarked"}, "getset", "delay", true},
		{[]string{"lottery-*"}, "getset", undisturbed, true},
		{[]string{allNames}, "getset", "delay", true},
	} {
		r, _ := locks.ByID(c.lock)
		f, _ := nemesis.ByName(c.fault)
		named, err := namedWorkloads(c.choice)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&planner{config: DefaultConfig()}).runs(w, named, r, f); got != c.want {
			t.Errorf("%v: %s under %s runs it: %v, want %v", c.choice, c.lock, c.fault, got, c.want)
		}
	}
}

// The flaws that workloads declare exist in the registries.
func TestWorkloadsDeclareWhatExists(t *testing.T) {
	for _, w := range workloads.All() {
		for _, f := range w.Shows {
			if o := checker.OracleNamed(f.Oracle); !o.OfProgram || !slices.Contains(checker.Causes(), checker.Cause(f.Cause)) || f.Why == "" || f.Source == "" {
				t.Errorf("%s declares %+v", w.Name, f)
			}
		}
		if w.Document != "" && !slices.ContainsFunc(locks.Documents(), func(d locks.Document) bool { return d.ID == w.Document }) {
			t.Errorf("%s is of document %q", w.Name, w.Document)
		}
	}
}
