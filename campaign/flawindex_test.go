package campaign

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

func TestAFlawIsShownByItsFirstTrialNamedOnesBeforeDrawn(t *testing.T) {
	flaw, other := trialtest.Violated("ownership", "foreign-delete"), trialtest.Violated("exclusion", "lease-outlived")
	named := func(k int) trial.Result {
		x := found("delay", k, 1, flaw)
		x.Spec.Schedule = "s" + x.Spec.Number()
		return x
	}
	trials := []trial.Result{
		found("delay", 0, 1, flaw), found("client-pause", 3, 1, flaw, other), named(2), named(1), found("client-pause", 2, 1, flaw),
		found("chaos", 0, 1, flaw),
	}
	for range 2 {
		var got []string
		for _, e := range (Stored{Info: Info{Deterministic: true}, Trials: trials}).ShownFlaws() {
			got = append(got, strings.Join([]string{e.Fault, e.Oracle, e.Cause, string(e.Kind), e.Trial.Spec.Title()}, " "))
		}
		want := []string{
			"chaos ownership foreign-delete bug trial 0",
			"client-pause exclusion lease-outlived limit trial 3",
			"client-pause ownership foreign-delete bug trial 2",
			"delay ownership foreign-delete bug schedule s1",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		slices.Reverse(trials)
	}
}

func TestAnExampleIsFromTheFirstFaultThatMustShowTheFlaw(t *testing.T) {
	flaw := trialtest.Violated("ownership", "foreign-delete")
	declared := locks.Flaw{Oracle: "ownership", Cause: "foreign-delete", Faults: []string{"delay", "client-pause"}, Also: []string{"reset"}}
	for _, test := range []struct{ shown, mix, want string }{
		{"client-pause delay reset chaos", "reset", "delay"},
		{"chaos reset client-pause", "delay", "client-pause"},
		{"chaos reset", "delay", "reset"},
		{"chaos", "node-pause reset", "chaos"},
		{"chaos", "node-pause", ""}, // the mix has none of the declared faults, so its trial is no example
		{"partition", "", ""},
	} {
		var s Stored
		for _, fault := range strings.Fields(test.shown) {
			t := found(fault, 0, 1, flaw)
			if nemesis.Mixes(fault) {
				t.Spec.Plan = nil
				for _, part := range strings.Fields(test.mix) {
					t.Spec.Plan = append(t.Spec.Plan, nemesis.Action{Fault: part})
				}
			}
			s.Trials = append(s.Trials, t)
		}
		e, ok := Example(s.ShownFlaws(), "test-flawed", declared)
		if e.Fault != test.want || ok != (test.want != "") {
			t.Errorf("shown under %s: example under %q, want %q", test.shown, e.Fault, test.want)
		}
	}
}
