package shrink

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// A smaller trial must show the worst undeclared flaw, because that is why somebody looks at the
// trial, even if a declared flaw is worse.
func TestShrinkingKeepsWhatIsNotDeclared(t *testing.T) {
	limit := trial.Flaw{Oracle: "exclusion", Cause: "lease-outlived", Kind: locks.Limit}
	blocked := trial.Flaw{Oracle: "liveness", Cause: "orphaned-key"}
	other := trial.Flaw{Oracle: "liveness", Cause: "no-expiry"}
	shows := func(flaws ...trial.Flaw) trial.Result {
		r := trial.Result{Outcome: trial.Violated, Flaws: flaws}
		r.Spec.Fault, r.Spec.Plan, r.Hits = "client-pause", nemesis.Plan{{Fault: "client-pause", For: time.Second}}, 1
		return r
	}
	idle := func(r trial.Result) trial.Result { r.Hits = 0; return r }
	for name, test := range map[string]struct {
		smaller, original trial.Result
		want              bool
	}{
		"both":                               {shows(limit, blocked), shows(limit, blocked), true},
		"the undeclared alone":               {shows(blocked), shows(limit, blocked), true},
		"the declared alone, though worse":   {shows(limit), shows(limit, blocked), false},
		"another undeclared":                 {shows(limit, other), shows(limit, blocked), false},
		"the worst, where all are declared":  {shows(limit), shows(limit), true},
		"one more that the original had not": {shows(limit, blocked), shows(limit), false},
		"nothing":                            {shows(), shows(limit), false},
		"a fault that hits nothing now":      {idle(shows(limit)), shows(limit), false},
		"a fault that never hit anything":    {idle(shows(limit)), idle(shows(limit)), true},
	} {
		if got := shownBy(trial.Done{Trial: test.smaller}, test.original); got != test.want {
			t.Errorf("%s: shown = %v, want %v", name, got, test.want)
		}
	}
}
