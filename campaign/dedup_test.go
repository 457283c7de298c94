package campaign

import (
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

func TestOnlyTheFirstTrialThatShowsAFlawIsStored(t *testing.T) {
	violated := func(k int, causes ...string) trial.Result {
		x := trial.Result{Spec: trial.Spec{Lock: "a", Fault: "b", Trial: k}, Outcome: trial.Violated, Dir: "x"}
		for _, c := range causes {
			x.Flaws = append(x.Flaws, trial.Flaw{Oracle: "exclusion", Cause: c})
		}
		return x
	}
	named := func(k int, causes ...string) trial.Result {
		x := violated(k, causes...)
		x.Spec.Schedule = "s"
		return x
	}
	elsewhere, dropped, held := violated(1, "race"), violated(1, "race"), violated(1)
	elsewhere.Spec.Fault, dropped.Dir, held.Outcome = "c", "", trial.Holds
	for name, c := range map[string]struct {
		before []trial.Result
		want   bool
	}{
		"an earlier one":  {[]trial.Result{violated(4, "race"), violated(1, "race")}, true},
		"a named one":     {[]trial.Result{named(9, "race")}, true},
		"others":          {[]trial.Result{elsewhere, dropped, held}, false},
		"later ones only": {[]trial.Result{violated(3, "race"), violated(4, "race")}, false},
		"another flaw":    {[]trial.Result{violated(0, "late-command")}, false},
		"more flaws":      {[]trial.Result{violated(0, "race", "late-command")}, true},
	} {
		var s shown
		for _, x := range c.before {
			s.add(x)
		}
		this := violated(3, "race")
		if got := !this.ShowsMore(s.enough(this.Spec)); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
