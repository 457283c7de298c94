package reports

import (
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
)

// Trials that a search counted without storing count as trials of the campaign.
func TestTrialsThatAreNotStoredAreCounted(t *testing.T) {
	r := sampleResult(t)
	was := newView(r)
	r.Info.Further = &campaign.Further{Cells: []campaign.Tally{{Trials: 5, Violations: 2}, {Trials: 7, Violations: 1}}}
	v := newView(r)
	if v.TrialCount != was.TrialCount+12 || v.ViolationCount != was.ViolationCount+3 {
		t.Errorf("%d trials, %d with a violation; want 12 and 3 more than %d and %d", v.TrialCount, v.ViolationCount, was.TrialCount, was.ViolationCount)
	}
}
