package reports

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
)

// Trials that a search counted without storing count as trials of the campaign: 12 more than the 20 of the sample.
func TestTrialsThatAreNotStoredAreCounted(t *testing.T) {
	r := sampleResult(t)
	r.Info.Further = &campaign.Further{Cells: []campaign.Tally{{Trials: 5, Violations: 2}, {Trials: 7, Violations: 1}}}
	if got, want := string(summaryReport(r)), "result: 32 trials, 23 with a violation\n"; !strings.Contains(got, want) {
		t.Errorf("the report lacks %q", want)
	}
}
