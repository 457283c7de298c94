package reports

import (
	"strings"
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
	var b strings.Builder
	markdownRenewals(&b, r.renewals([]string{"set-nx-px-watchdog", "set-nx-px", "getset"}))
	const want = `| recipe | renews | at work for 1.2 leases | at work for 5.2 leases | at work for several of these | hung: violated | hung: blocked for ever |
|---|:-:|--:|--:|--:|--:|--:|
| ` + "`set-nx-px`" + ` | no | 1 of 2 | 1 of 1 | – | 2 of 2 | 0 of 2 |
| ` + "`set-nx-px-watchdog`" + ` | yes | 0 of 1 | – | 1 of 1 | 0 of 1 | 1 of 1 |

`
	if _, table, _ := strings.Cut(b.String(), "\n\n"); !strings.HasSuffix(table, want) {
		t.Errorf("got %s\nwant %s", table, want)
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
