package plots

import (
	"maps"
	"testing"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/trial"
)

func TestFairnessIsTheMedianOfTrialsWithEnoughGrants(t *testing.T) {
	got := func(fault string, clients, grants int, jain float64) trial.Result {
		return trial.Result{Spec: trial.Spec{Lock: "plain", Fault: fault}, Progress: &progress.Measures{Clients: clients, Grants: grants, Jain: jain}}
	}
	want := map[CellKey]float64{{Lock: "plain", Fault: "delay"}: 0.8}
	if found := fairness([]trial.Result{
		got("delay", 3, 9, 0.8), got("delay", 3, 30, 1), got("delay", 3, 12, 0.4),
		got("delay", 3, 2, 0.1), got("none", 1, 20, 1), got("reset", 2, 1, 0.5), {Spec: trial.Spec{Lock: "plain", Fault: "delay"}},
	}); !maps.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}
