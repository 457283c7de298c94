package trial

import (
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/workloads"
)

func TestWhatAWorkloadIsLikeCountsAsItsFaultsDo(t *testing.T) {
	declared := []locks.Flaw{{Oracle: "liveness", Cause: "orphaned-key", Kind: locks.Limit, Faults: []string{"lost-reply"}}}
	for workload, want := range map[string]locks.Kind{"mutex": "", "cancel": locks.Limit} {
		if got := kindOf(Spec{Fault: "none", Workload: workload}, "liveness", "orphaned-key", declared); got != want {
			t.Errorf("%s: got %q, want %q", workload, got, want)
		}
	}
}

// A workload may resemble a fault (Workload.Like) for a single oracle only (Workload.LikeIn).
func TestWhatAWorkloadIsLikeIsLimitedToAnOracle(t *testing.T) {
	declared := []locks.Flaw{
		{Oracle: "exclusion", Cause: "lease-outlived", Kind: locks.Limit, Faults: []string{"slow-work"}},
		{Oracle: "resource", Cause: "lease-outlived", Kind: locks.Limit, Faults: []string{"slow-work"}},
	}
	for _, test := range []struct {
		workload, fault, oracle string
		want                    locks.Kind
	}{
		{"fenced-write", "none", "exclusion", locks.Limit},
		{"fenced-write", "delay", "exclusion", locks.Limit},
		{"fenced-write", "none", "resource", ""},
		{"fenced-write", "slow-work", "resource", locks.Limit},
		{"mutex", "none", "exclusion", ""},
		{"extend", "none", "resource", locks.Limit},
	} {
		if got := kindOf(Spec{Fault: test.fault, Workload: test.workload}, test.oracle, "lease-outlived", declared); got != test.want {
			t.Errorf("%+v: got %q", test, got)
		}
	}
}

// The faults (Like) and the oracle (LikeIn) that a workload names must exist. A workload
// with which every lock is tried may resemble faults for only one oracle.
func TestWorkloadsAreLikeFaultsThatExist(t *testing.T) {
	for _, w := range workloads.All() {
		everyLock := w.Standard && w.Asks == nil && w.Suits(history.Claims{})
		for _, name := range w.Like {
			if _, ok := nemesis.ByName(name); !ok || everyLock && w.LikeIn == "" {
				t.Errorf("%s is like %s: expected a fault, and one oracle for the workload of every lock", w.Name, name)
			}
		}
		if w.LikeIn != "" && (checker.OracleNamed(w.LikeIn).Judge == nil || len(w.Like) == 0) {
			t.Errorf("%s is like something in the oracle %q: expected an oracle, and a fault", w.Name, w.LikeIn)
		}
	}
}
