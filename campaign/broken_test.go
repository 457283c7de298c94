package campaign

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// TestEveryLimitNamesTheAssumptionThatBroke runs the named schedules of a few cells. Each
// violation that a recipe declares as a limit must name an assumption that broke in that
// trial.
func TestEveryLimitNamesTheAssumptionThatBroke(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make thorough runs it")
	}
	limits := 0
	for _, cell := range []struct{ lock, fault string }{
		{"set-nx-px", "client-pause"}, {"set-nx-px", "client-crash"}, {"set-nx-px", "node-restart"},
		{"set-nx-px", "eviction"}, {"set-nx-px", "node-clock"}, {"redlock", "client-pause"},
	} {
		p, planned, err := planning(t.Context(), sim.New(), DefaultConfig(), cell.lock, cell.fault, "mutex")
		if err != nil {
			t.Fatal(err)
		}
		specs, err := p.schedules(planned, "mutex")
		if err != nil || len(specs) == 0 {
			t.Fatalf("%s under %s: %d schedules, %v", cell.lock, cell.fault, len(specs), err)
		}
		for _, s := range specs {
			tb := sim.New()
			e, err := trial.Run(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), nil)
			if err != nil {
				t.Fatal(err)
			}
			judged, err := trial.Judge(t.Context(), trial.Record{Spec: &s, Evidence: e})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range judged.Verdicts {
				for _, f := range v.Findings {
					limit := trial.Flaw{Oracle: v.Oracle, Cause: string(f.Cause), Kind: locks.Limit}
					if v.Result != checker.Violated || !slices.ContainsFunc(judged.Flaws, func(f trial.Flaw) bool { return f.Same(limit) && f.Kind == limit.Kind }) {
						continue
					}
					if limits++; f.Broken == "" {
						t.Errorf("%s under %s, %s: %s (%s) is a limit, and no assumption broke: %s", s.Lock, s.Fault, s.Schedule, v.Oracle, f.Cause, f.Summary)
					}
				}
			}
		}
	}
	if limits == 0 {
		t.Error("no trial showed a limit")
	}
}
