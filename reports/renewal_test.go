package reports

import (
	"reflect"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// overran returns a trial of a recipe. Its plan has one action of the fault for each of the
// durations in lasts.
func overran(lock, fault string, o trial.Outcome, forever bool, lasts ...time.Duration) trial.Result {
	t := trial.Result{Outcome: o, Spec: trial.Spec{Lock: lock, Fault: fault, Options: workloads.Options{TTL: time.Second}}}
	for _, d := range lasts {
		t.Spec.Plan = append(t.Spec.Plan, nemesis.Action{Fault: fault, For: d})
	}
	if o != trial.Holds {
		t.Flaws = []trial.Flaw{{Oracle: "any", Forever: forever}}
	}
	return t
}

func TestRenewalIsComparedAtEqualOverruns(t *testing.T) {
	const slow, hung = "slow-work", "hung-work"
	r := result{Glossary: registries(), Trials: []trial.Result{
		overran("set-nx-px", slow, trial.Violated, false, 1200*time.Millisecond),
		overran("set-nx-px", slow, trial.Holds, false, 1200*time.Millisecond, 1200*time.Millisecond),
		overran("set-nx-px", slow, trial.Violated, false, 5200*time.Millisecond),
		overran("set-nx-px", hung, trial.Violated, false, time.Second),
		overran("set-nx-px", hung, trial.Violated, false, time.Second, 2*time.Second), // a hang lasts for ever, whatever its times are
		overran("set-nx-px-watchdog", slow, trial.Holds, false, 1200*time.Millisecond),
		overran("set-nx-px-watchdog", hung, trial.Blocked, true, time.Second),
		overran("set-nx-px-watchdog", slow, trial.Violated, false, time.Second, 2*time.Second), // its two actions have different times
		// These do not count: an undecided trial, and one with another fault.
		overran("set-nx-px-watchdog", slow, trial.Unknown, false, 1200*time.Millisecond),
		overran("set-nx-px-watchdog", "client-pause", trial.Violated, false, 1200*time.Millisecond),
		// The lease of getset is a second longer than the TTL, so these are 1.2 leases too.
		overran("getset", slow, trial.Violated, false, 2400*time.Millisecond),
	}}
	want := renewalTable{Overruns: []string{"1.2 leases", "5.2 leases", "several of these"}, Rows: []renewalRow{
		{Recipe: "set-nx-px", Slow: []string{"1 of 2", "1 of 1", "–"}, Hung: "2 of 2", Ever: "0 of 2"},
		{Recipe: "set-nx-px-watchdog", Renews: true, Slow: []string{"0 of 1", "–", "1 of 1"}, Hung: "0 of 1", Ever: "1 of 1"},
	}}
	if got := r.renewals([]string{"set-nx-px-watchdog", "set-nx-px", "getset"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestARecipeThatRenewsIsComparedWithOneThatDoesNot(t *testing.T) {
	g := registries()
	for _, r := range g.Recipes {
		if r.Unrenewed == "" {
			continue
		}
		plain, ok := g.recipe(r.Unrenewed)
		if !r.Claims(time.Second, 5).Renews || !ok || plain.Claims(time.Second, 5).Renews {
			t.Errorf("%s is compared with %q", r.ID, r.Unrenewed)
		}
	}
}
