package plots

import (
	"maps"
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

// If equally many recipes ran several workloads, a general workload wins over the workloads of a
// source document or of a lottery.
func TestRecipesAreComparedInAGeneralWorkload(t *testing.T) {
	var trials []trial.Result
	for _, w := range []string{"lottery-unmarked", "mutex", "lottery"} {
		trials = append(trials, trial.Result{Spec: trial.Spec{Lock: "a", Fault: "none", Workload: w}})
	}
	if got := ComparedIn(trials)["a"]; got != "mutex" {
		t.Errorf("compared in %s, want mutex", got)
	}
}

// A workload of one source document or of a lottery says little about waiting. Recipes are
// compared in another workload even if fewer recipes ran it.
func TestRecipesAreComparedInAnOrdinaryWorkload(t *testing.T) {
	in := func(lock, workload string) trial.Result {
		return trial.Result{Spec: trial.Spec{Lock: lock, Fault: "none", Workload: workload}}
	}
	got := ComparedIn([]trial.Result{
		in("plain", "lottery-unmarked"), in("other", "lottery-unmarked"), in("third", "lottery-unmarked"), in("fenced", "lottery-unmarked"),
		in("plain", "mutex"), in("other", "mutex"), in("other", "extend"),
		in("fenced", "fenced-write"), in("fenced", "two-locks"), in("more", "two-locks"),
	})
	want := map[string]string{"plain": "mutex", "other": "mutex", "third": "lottery-unmarked", "fenced": "two-locks", "more": "two-locks"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
