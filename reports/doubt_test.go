package reports

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

func TestADoubtIsInEveryReport(t *testing.T) {
	cell := campaign.Cell{Lock: "set-nx-px", Fault: "client-pause", Verdict: trial.Violated, Kind: "limit", Trials: 3, Shown: 2, Exercised: 2}
	r := result{Matrix: campaign.Matrix{Cells: []campaign.Cell{cell}, Doubtful: []campaign.Doubt{
		{Lock: cell.Lock, Fault: cell.Fault, Flaws: []trial.Flaw{{Oracle: "exclusion", Cause: "race"}}},
	}}}
	const want = "exclusion by race in doubt, not declared"
	if text := string(summaryReport(r)); strings.Count(text, want) != 1 {
		t.Errorf("Markdown: got\n%s\nwant one line of %q", text, want)
	}
	for _, expect := range []bool{false, true} {
		r.Info.Config.Expect = expect
		text, err := junitReport(r)
		if err != nil {
			t.Fatal(err)
		}
		var got junit.Testsuites
		if err := xml.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		c := got.Suites[0].Testcases[0]
		if (c.Error != nil) != expect || c.Failure != nil || !strings.Contains(c.SystemOut.Data, want) || expect && !strings.Contains(c.Error.Message, want) {
			t.Errorf("JUnit, expect %t: got\n%s", expect, text)
		}
	}
}
