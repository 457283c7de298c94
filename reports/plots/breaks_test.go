package plots

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// sweptTrials returns n trials of client-pause with one size. The first trials have the given
// outcomes; the remaining ones hold.
func sweptTrials(lock string, size float64, n int, outcomes ...trial.Outcome) (all []trial.Result) {
	for k := range n {
		t := trial.Result{Outcome: trial.Holds, Hits: 1, Spec: trial.Spec{
			Lock: lock, Fault: "client-pause", Workload: "mutex", Size: size, Schedule: fmt.Sprint("hold.size", size, ".", k), Plan: nemesis.Plan{{Fault: "client-pause"}},
		}}
		if k < len(outcomes) {
			t.Outcome = outcomes[k]
		}
		all = append(all, t)
	}
	return all
}

// campaignOf returns a campaign with these trials.
func campaignOf(trials ...[]trial.Result) Campaign {
	c := Campaign{Trials: slices.Concat(trials...)}
	for _, t := range c.Trials {
		if _, ok := CellOf(c.Matrix, t.Spec.Lock, t.Spec.Fault); !ok {
			c.Matrix.Cells = append(c.Matrix.Cells, campaign.Cell{Lock: t.Spec.Lock, Fault: t.Spec.Fault})
		}
	}
	return c
}

func TestTheTrialsOfASweepAreCountedBySize(t *testing.T) {
	drawn := sweptTrials("plain", 0, 9, trial.Violated)
	other := sweptTrials("plain", 1, 1, trial.Violated)
	other[0].Spec.Workload = "two-locks"
	r := campaignOf(
		sweptTrials("plain", 0.5, 6, trial.Unknown, trial.NotExercised),
		sweptTrials("plain", 1, 6, trial.Violated, trial.Violated, trial.Blocked),
		sweptTrials("plain", 3, 4, trial.Violated), drawn, other)
	want := [][]string{
		{"plain", "mutex", "client-pause", "0.5", "6", "4", "0"},
		{"plain", "mutex", "client-pause", "1", "6", "6", "2"},
		{"plain", "mutex", "client-pause", "3", "4", "4", "1"},
		{"plain", "two-locks", "client-pause", "1", "1", "1", "1"},
	}
	if got := tableOf(t, r, "breaks"); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

// A share of few trials is meaningless: it is hatched. A recipe that has only such shares has no
// row.
func TestSharesOfFewTrialsAreNotDrawn(t *testing.T) {
	r := campaignOf(
		sweptTrials("plain", 0.5, 5), sweptTrials("plain", 1, 8, trial.Violated, trial.Violated), sweptTrials("plain", 3, 4, trial.Violated),
		sweptTrials("few", 1, 4, trial.Violated))
	asReviewed(t, r, "breaks")
}

func TestWithoutASweepThePageSaysWhatIsMissing(t *testing.T) {
	for _, trials := range [][]trial.Result{sweptTrials("plain", 0, 9, trial.Violated), sweptTrials("plain", 1, 4, trial.Violated)} {
		r := campaignOf(trials)
		if missing := NotDrawn(Draw(r)); !slices.Contains(missing, Missing{"Where each recipe breaks", breaksNeed}) {
			t.Errorf("the plots that are not drawn are %v", missing)
		}
	}
}

// The faults of a sweep have many sizes, so its figures must not mix with those of other trials.
func TestSweepsAreInNoOtherPlot(t *testing.T) {
	trials := sweptTrials("plain", 1, 3)
	for i := range trials {
		p := trialProgress
		p.Recoveries = 1
		trials[i].Progress = &p
	}
	for _, name := range []string{"damage", "recovery"} {
		if _, ok := plotOf(campaignOf(trials), name); ok {
			t.Errorf("the sweep is in %s", name)
		}
	}
}
