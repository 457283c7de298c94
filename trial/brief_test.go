package trial

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
)

func TestABriefResultHasTheFirstAndTheLongestFindingOfEachCause(t *testing.T) {
	found := func(c checker.Cause, from, to time.Duration) checker.Finding {
		return checker.Finding{Cause: c, Summary: "told", From: from, To: to, Ops: []int{1, 2}, Account: account.Account{Fact: account.Fact{Text: "told"}}}
	}
	for name, c := range map[string]struct {
		findings []checker.Finding
		want     [][2]time.Duration
		leftOut  int
	}{
		"none":                 {nil, nil, 0},
		"one":                  {[]checker.Finding{found("race", 1, 2)}, [][2]time.Duration{{1, 2}}, 0},
		"the first is longest": {[]checker.Finding{found("race", 1, 9), found("race", 2, 3)}, [][2]time.Duration{{1, 9}}, 1},
		"another is longest":   {[]checker.Finding{found("race", 1, 2), found("race", 2, 4), found("race", 3, 9), found("race", 4, 10)}, [][2]time.Duration{{1, 2}, {3, 9}}, 2},
		"two causes":           {[]checker.Finding{found("race", 1, 2), found("late-command", 2, 3), found("race", 3, 9), found("late-command", 5, 6)}, [][2]time.Duration{{1, 2}, {2, 3}, {3, 9}}, 1},
	} {
		whole := Result{Verdicts: []checker.Verdict{{Oracle: "exclusion", Result: checker.Violated, Findings: c.findings, Why: "because"}}}
		v := whole.Brief().Verdicts[0]
		var got [][2]time.Duration
		for i, f := range v.Findings {
			got = append(got, [2]time.Duration{f.From, f.To})
			if i == 0 && f.Summary != "told" || f.Ops != nil || f.Account.Text != "" {
				t.Errorf("%s: %+v has not what is kept", name, f)
			}
		}
		if g, w := text(t, got), text(t, c.want); g != w || v.LeftOut != c.leftOut || v.Why != "because" {
			t.Errorf("%s: got %s and %d left out, want %s and %d", name, g, v.LeftOut, w, c.leftOut)
		}
		if len(whole.Verdicts[0].Findings) != len(c.findings) || len(c.findings) > 0 && whole.Verdicts[0].Findings[0].Ops == nil {
			t.Errorf("%s: the whole result was changed", name)
		}
		if again := whole.Brief().Brief().Verdicts[0]; again.LeftOut != c.leftOut {
			t.Errorf("%s: twice: %d left out", name, again.LeftOut)
		}
	}
}

func TestABriefResultSaysAsDataWhyAVerdictIsUnknown(t *testing.T) {
	verdict := func(r checker.Result) checker.Verdict {
		return checker.Verdict{Oracle: "liveness", Result: r, Reasons: []account.Fact{{What: account.OrderUnseen}}}
	}
	brief := Result{Verdicts: []checker.Verdict{verdict(checker.Unknown), verdict(checker.Held)}}.Brief().Verdicts
	if !brief[0].Unordered() {
		t.Errorf("%+v does not say that an order was not seen", brief[0])
	}
	if brief[1].Reasons != nil {
		t.Errorf("%+v has reasons", brief[1])
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
