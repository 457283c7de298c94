package plots

import (
	"bytes"
	"testing"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/trial"
)

// The trials with too few grants or clients would change the median of 0.8.
func TestFairnessIsTheMedianOfTrialsWithEnoughGrants(t *testing.T) {
	got := func(fault string, clients, grants int, jain float64) trial.Result {
		return trial.Result{Spec: trial.Spec{Lock: "plain", Fault: fault}, Progress: &progress.Measures{Clients: clients, Grants: grants, Jain: jain}}
	}
	p, _ := plotOf(campaignOf([]trial.Result{
		got("delay", 3, 9, 0.8), got("delay", 3, 30, 1), got("delay", 3, 12, 0.4),
		got("delay", 3, 2, 0.1), got("none", 1, 20, 1), got("reset", 2, 1, 0.5), {Spec: trial.Spec{Lock: "plain", Fault: "delay"}},
	}), "fairness")
	if picture := p.Picture.File(); bytes.Count(picture, []byte(">0.80<")) != 1 || bytes.Count(picture, []byte(`fill="url(#hatching)"`)) != 2 {
		t.Errorf("want one median, 0.80, and two cells without:\n%s", picture)
	}
}
