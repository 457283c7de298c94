package plots

import (
	"reflect"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// waited returns n trials of a recipe under a fault with these waits.
func waited(n int, lock, fault string, w progress.Waiting) []trial.Result {
	return slices.Repeat([]trial.Result{{
		Outcome: trial.Holds, Hits: 1, Progress: &progress.Measures{Waits: 1}, Waiting: &w,
		Spec: trial.Spec{Lock: lock, Fault: fault, Workload: "mutex", Plan: nemesis.Plan{{Fault: fault}}},
	}}, n)
}

func TestWaitsCountFromEachMomentUntilTheirEnd(t *testing.T) {
	c := campaignOf(
		waited(leastWaiting, "plain", "partition", progress.Waiting{Ends: 2, Until: 4, Waits: [][2]int{{-2, 4}, {1, progress.Forever}, {3, 0}}}),
		waited(leastWaiting, "plain", "chaos", progress.Waiting{Until: 4, Waits: [][2]int{{0, 1}}}), // a mix has no kind
		waited(leastWaiting-1, "plain", "node-pause", progress.Waiting{Until: 4, Waits: [][2]int{{0, 1}}}),
		sweptTrials("plain", 1, leastWaiting))
	all := waves(c)
	w := all[waveAt{"plain", "network"}]
	if len(all) != 1 || w == nil {
		t.Fatalf("got %d waves: %v", len(all), all)
	}
	type bin struct{ watched, inForce, median, slow int } // -1 = too few clients waited
	want := map[int]bin{-3: {20, 0, -1, -1}, -2: {20, 0, 4, 4}, -1: {20, 0, 3, 3}, 0: {20, 20, 2, 2}, 1: {20, 20, never, never}, 2: {20, 0, never, never}, 3: {20, 0, never, never}, 4: {0, 0, -1, -1}}
	for at, want := range want {
		b := w.bins[at+progress.WaitingTick]
		got := bin{b.watched, b.inForce, -1, -1}
		if v, ok := b.of(0.5); ok {
			got.median = v
		}
		if v, ok := b.of(0.99); ok {
			got.slow = v
		}
		if got != want {
			t.Errorf("at %d: got %+v, want %+v", at, got, want)
		}
	}
	rows := tableOf(t, c, "waiting")
	if got, want := rows[progress.WaitingTick+1], []string{"plain", "mutex", "network", "20", "100", "20", "20", "40", "never", "never", "20"}; !reflect.DeepEqual(got, want) {
		t.Errorf("figures %q, want %q", got, want)
	}
}

// A recipe with too few trials for every kind of fault has no row; the picture names it.
func TestWaitingIsDrawnWhereThereAreEnoughTrials(t *testing.T) {
	slow := progress.Waiting{Ends: 12, Until: 40, Waits: [][2]int{{-10, 2}, {-7, 1}, {-3, 25}, {-1, 14}, {13, 2}, {16, 1}, {22, 3}, {25, 12}}}
	stuck := progress.Waiting{Until: 30, Waits: [][2]int{{-10, 2}, {-3, 2}, {2, progress.Forever}}}
	c := campaignOf(
		waited(30, "plain", "partition", slow), waited(25, "plain", "client-crash", slow), waited(25, "plain", "node-pause", stuck),
		waited(40, "other", "client-crash", stuck), waited(3, "few", "partition", slow))
	asReviewed(t, c, "waiting")
	if _, ok := plotOf(campaignOf(waited(3, "few", "partition", slow)), "waiting"); ok {
		t.Error("the waits of 3 trials are drawn")
	}
}
