package reports

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/reporttest"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/decision"
)

// decidedSample returns a decision about the sample whose holder is paused beyond its lease, and
// that sample.
func decidedSample(t *testing.T) (decision.Decision, sampleTrial) {
	t.Helper()
	all := sampleTrials(t)
	s := all[slices.IndexFunc(all, func(s sampleTrial) bool {
		return s.Trial.Spec.Lock == "set-nx-px" && s.Trial.Spec.Fault == "client-pause"
	})]
	point := func(at float64, op, violated int) decision.Point {
		return decision.Point{Instant: decision.Instant{At: reporttest.MS(at), Op: op, Key: -1}, Runs: 8, Violated: violated}
	}
	d := decision.Decision{Flaw: trial.Flaw{Oracle: "exclusion", Cause: "lease-outlived"}, Shown: reporttest.MS(1223), Certain: 4, Points: []decision.Point{
		point(10, 0, 0), point(60, 3, 0), point(720, -1, 0), point(1011, -1, 3), point(1123, -1, 8), point(1223, -1, 8),
	}}
	return d, s
}

func TestADecisionIsDrawnAndTold(t *testing.T) {
	d, s := decidedSample(t)
	dir := t.TempDir()
	if err := Decided(dir, d, s.Evidence); err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(filepath.Join(dir, DecidedFile))
	if err != nil {
		t.Fatal(err)
	}
	reporttest.WellFormed(t, picture)
	reporttest.Golden(t, "decided.svg", picture)
	table, err := os.ReadFile(filepath.Join(dir, "decided.csv"))
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "decided.csv", table)
	words := DecidedWords(d, s.Evidence)
	for _, want := range []string{
		"exclusion by lease-outlived", "shows at 1.223000 s", "From 1.123000 s on it was certain", "all 8 continuations",
		"At 1.011000 s, 5 of 8 still averted it", "What happened in between: n0: the life of orders ends at 1.011 s; n0: orders expires; c1: begins to acquire; n0: orders is changed by a command; c1: acquire: done.",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not in:\n%s", want, words)
		}
	}
	d.Certain = 0
	if words := DecidedWords(d, s.Evidence); !strings.Contains(words, "needs no fault") {
		t.Errorf("certain from the start: %s", words)
	}
}

// A counterexample that is written again keeps the plot of its decision.
func TestCounterexamplesShowThePlotOfTheirDecision(t *testing.T) {
	dir, trials := storedCampaign(t)
	folder := filepath.Join(dir, trials[0].Trial.Dir)
	told := func() int {
		s, err := campaign.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Report(t.Context(), New); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(folder, CounterexampleFile))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(page), "]("+DecidedFile+")")
	}
	if n := told(); n != 0 {
		t.Errorf("%d links without a plot", n)
	}
	if err := os.WriteFile(filepath.Join(folder, DecidedFile), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if n := told(); n != 1 {
		t.Errorf("%d links to the plot, want one", n)
	}
}
