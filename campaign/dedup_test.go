package campaign

import (
	"slices"
	"testing"
)

func TestOnlyTheFirstTrialThatShowsSomethingIsStored(t *testing.T) {
	trial := func(k int, causes ...string) Trial {
		x := Trial{Spec: Spec{Lock: "a", Fault: "b", Trial: k}, Outcome: Violated, Dir: "x"}
		for _, c := range causes {
			x.Flaws = append(x.Flaws, Flaw{Oracle: "exclusion", Cause: c})
		}
		return x
	}
	named := func(k int, causes ...string) Trial {
		x := trial(k, causes...)
		x.Spec.Schedule = "s"
		return x
	}
	elsewhere, dropped, held := trial(1, "race"), trial(1, "race"), trial(1)
	elsewhere.Spec.Fault, dropped.Dir, held.Outcome = "c", "", Holds
	for name, c := range map[string]struct {
		before []Trial
		want   bool
	}{
		"an earlier one":  {[]Trial{trial(4, "race"), trial(1, "race")}, true},
		"a named one":     {[]Trial{named(9, "race")}, true},
		"others":          {[]Trial{elsewhere, dropped, held}, false},
		"later ones only": {[]Trial{trial(3, "race"), trial(4, "race")}, false},
		"other flaws":     {[]Trial{trial(0, "race", "late-command")}, false},
	} {
		var s shown
		for _, x := range c.before {
			s.add(x)
		}
		this := trial(3, "race")
		if got := slices.Contains(s.enough(this.Spec), this.shows()); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
