package reports

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

func TestUndecidedTrialsCanBeLookedAt(t *testing.T) {
	r := result{
		Matrix: campaign.Matrix{Store: "store/demo", Cells: []campaign.Cell{{
			Lock: "rw-hash-owners", Fault: "partition", Verdict: trial.Holds, Trials: 26, Exercised: 24, Undecided: 2,
			UndecidedWhy: "liveness: c0 never got into lock-0", UndecidedDir: "trials/a/b/mutex-2",
		}}},
	}
	html, err := htmlReport(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{"HTML": string(html), "Markdown": string(markdownReport(r, nil))} {
		for _, want := range []string{"trials/a/b/mutex-2", "lockstorm replay store/demo/trials/a/b/mutex-2", "lockstorm check store/demo/trials/a/b/mutex-2", "run it again"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}
