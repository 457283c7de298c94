package plots

import (
	"reflect"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/trial"
)

// overlapping returns a trial with overlaps of these lengths, in milliseconds.
func overlapping(lock string, lengths ...float64) trial.Result {
	t := sweptTrials(lock, 0, 1, trial.Violated)[0]
	v := checker.Verdict{Oracle: "exclusion", Result: checker.Violated}
	for _, ms := range lengths {
		v.Findings = append(v.Findings, checker.Finding{From: reporttest.MS(5), To: reporttest.MS(5 + ms)})
	}
	t.Verdicts = []checker.Verdict{v, {Oracle: "resource", Result: checker.Violated, Findings: []checker.Finding{{To: time.Hour}}}}
	return t
}

func TestOverlapsAreTheLongestOfEachTrial(t *testing.T) {
	var trials []trial.Result
	for k := range 10 {
		trials = append(trials, overlapping("plain", 1, float64(10*(k+1)), 2), overlapping("plain"))
		if k > 0 {
			trials = append(trials, overlapping("few", 7))
		}
	}
	sweep, elsewhere := overlapping("plain", 9000), overlapping("plain", 9000)
	sweep.Spec.Size, elsewhere.Spec.Workload = 3, "lottery-unmarked"
	r := campaignOf(append(trials, sweep, elsewhere))
	want := [][]string{
		{"plain", "mutex", "10", "10.000", "60.000", "100.000", "100.000", "100.000"},
	}
	if got := tableOf(t, r, "overlap"); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	asReviewed(t, r, "overlap")
	if _, ok := plotOf(campaignOf(trials[1:2]), "overlap"); ok {
		t.Error("no overlap is drawn")
	}
}

func TestMediansAreRounded(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0: 0, 7 * time.Microsecond: 7 * time.Microsecond, 253456 * time.Nanosecond: 250 * time.Microsecond, 1449 * time.Millisecond: 1400 * time.Millisecond,
	} {
		if got := rounded(d); got != want {
			t.Errorf("%v: got %v, want %v", d, got, want)
		}
	}
}
