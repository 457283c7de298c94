package trial

import (
	"slices"
	"testing"
	"time"
)

// Settled returns the doubts of earlier runs that later runs resolved. DoubtDir returns the folder of
// the run in which the latest doubt arose, resolved or not.
func TestEarlierRunsTellWhatWasSettledAndWhereADoubtCameFrom(t *testing.T) {
	race, lost := Flaw{Oracle: "exclusion", Cause: "race"}, Flaw{Oracle: "resource", Cause: "race"}
	for name, c := range map[string]struct {
		result    Result
		settled   []Flaw
		dir       string
		unplanned bool
	}{
		"run once":            {result: Result{Doubtful: []Flaw{race}}},
		"a stall, no doubt":   {result: Result{Runs: []EarlierRun{{}}}},
		"still in doubt":      {result: Result{Doubtful: []Flaw{race}, Runs: []EarlierRun{{Doubtful: []Flaw{race}, Dir: "a"}}}, dir: "a"},
		"the same once more":  {result: Result{Doubtful: []Flaw{race}, Runs: []EarlierRun{{Doubtful: []Flaw{race}, Dir: "a"}, {Doubtful: []Flaw{race}, Dir: "b"}}}, dir: "a"},
		"settled":             {result: Result{Runs: []EarlierRun{{Doubtful: []Flaw{race}, Dir: "a"}}}, settled: []Flaw{race}, dir: "a"},
		"settled, another is": {result: Result{Doubtful: []Flaw{lost}, Runs: []EarlierRun{{Doubtful: []Flaw{race}, Dir: "a"}, {Doubtful: []Flaw{lost}, Dir: "b"}}}, settled: []Flaw{race}, dir: "b"},
		"shown":               {result: Result{Flaws: []Flaw{race}, Runs: []EarlierRun{{Doubtful: []Flaw{race}, Dir: "a"}}}, dir: "a"},
		"a run was recorded":  {result: Result{Runs: []EarlierRun{{Doubtful: []Flaw{race}, Dir: "a", Recorded: true}, {}}}, settled: []Flaw{race}, dir: "a", unplanned: true},
		"its folder was not kept": {result: Result{Doubtful: []Flaw{lost}, Runs: []EarlierRun{{Doubtful: []Flaw{race}, Dir: "a"}, {Doubtful: []Flaw{lost}}}},
			settled: []Flaw{race}, dir: "a"},
	} {
		if got := c.result.Settled(); !slices.Equal(got, c.settled) {
			t.Errorf("%s: settled %v, want %v", name, got, c.settled)
		}
		if got := c.result.DoubtDir(); got != c.dir {
			t.Errorf("%s: folder %q, want %q", name, got, c.dir)
		}
		if got := c.result.Unplanned(); got != c.unplanned {
			t.Errorf("%s: unplanned %t, want %t", name, got, c.unplanned)
		}
	}
}

// An earlier run that is no result of its own counts for the trial that followed it.
func TestTheLongestStallIsOfAnyRunThatIsNoResultOfItsOwn(t *testing.T) {
	for want, r := range map[time.Duration]Result{
		0: {Runs: []EarlierRun{{Recorded: true, Stall: 9}}},
		5: {Stall: 5, Runs: []EarlierRun{{Stall: 4}, {}}},
		6: {Stall: 5, Runs: []EarlierRun{{Stall: 6}, {Recorded: true, Stall: 9}}},
	} {
		if got := r.LongestStall(); got != want {
			t.Errorf("%+v: got %v, want %v", r, got, want)
		}
	}
}
