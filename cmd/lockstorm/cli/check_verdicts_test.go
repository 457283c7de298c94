package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/cmd/lockstorm/check"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

func TestCheckShowsWhatIsNotDeclaredFirst(t *testing.T) {
	found := func(cause checker.Cause, n int) []checker.Finding {
		var all []checker.Finding
		for i := range n {
			all = append(all, checker.Finding{Cause: cause, Summary: "what happened", From: time.Duration(i)})
		}
		return all
	}
	result := trial.Result{
		Spec: trial.Spec{Lock: "getset"},
		Verdicts: []checker.Verdict{
			{Oracle: "exclusion", Result: checker.Violated, Findings: found(checker.Race, 2)},
			{Oracle: "ownership", Result: checker.Violated, Findings: append(found(checker.ForeignDelete, 9), found(checker.ForeignRenewal, 1)...)},
		},
		Flaws: []trial.Flaw{
			{Oracle: "exclusion", Cause: "race", Kind: locks.Bug}, {Oracle: "ownership", Cause: "foreign-delete", Kind: locks.Bug},
			{Oracle: "ownership", Cause: "foreign-renewal"},
		},
	}
	var out bytes.Buffer
	(&app{output: output{stdout: &out}}).verdicts(result)
	before, after, ok := strings.Cut(out.String(), "foreign-renewal (not declared)")
	if !ok || strings.Contains(before, "foreign-delete") || strings.Count(after, "foreign-delete") != 4 || !strings.Contains(after, "and 5 more") {
		t.Errorf("got\n%s", &out)
	}
	if got := check.CounterexampleOf(result, history.Evidence{}); got.Oracle != "ownership" || got.Finding.Cause != checker.ForeignRenewal {
		t.Errorf("it is about %s by %s", got.Oracle, got.Finding.Cause)
	}
	result.Spec.Lock = "" // a history without a recipe: every finding counts as declared
	if got := check.CounterexampleOf(result, history.Evidence{}); got.Oracle != "exclusion" {
		t.Errorf("of a lock without declarations it is about %s", got.Oracle)
	}
}
