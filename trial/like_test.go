package trial

import (
	"testing"

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

func TestWorkloadsAreLikeFaultsThatExist(t *testing.T) {
	for _, w := range workloads.All() {
		for _, name := range w.Like {
			if _, ok := nemesis.ByName(name); !ok || w.Standard {
				t.Errorf("%s is like %s: expected a fault, and of no standard workload", w.Name, name)
			}
		}
	}
}
