package cli

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

func TestPaceSaysHowMuchWasDone(t *testing.T) {
	trials := func(n int, virtual time.Duration) []trial.Result {
		all := make([]trial.Result, n)
		for i := range all {
			all[i].Virtual = virtual
		}
		return all
	}
	cells := []campaign.Cell{
		{Lock: "a", Fault: "none", Verdict: trial.Holds, Replay: "lockstorm replay a"},
		{Lock: "b", Fault: "delay", Verdict: trial.Violated, Kind: locks.Limit, Replay: "lockstorm replay b"},
		{Lock: "c", Fault: "reset", Verdict: trial.Violated, Kind: locks.Bug, Replay: "lockstorm replay c"},
	}
	tests := []struct {
		name string
		s    campaign.Stored
		want []string
	}{
		{"an interrupted campaign", campaign.Stored{}, nil},
		{"real time", campaign.Stored{Info: campaign.Info{Elapsed: 400 * time.Second}, Trials: trials(1300, 0), Matrix: campaign.Matrix{Cells: cells}},
			[]string{"1300 trials in 6m40s, 3.25 a second"}},
		{"virtual time", campaign.Stored{
			Info: campaign.Info{Elapsed: 41 * time.Second, Deterministic: true}, Trials: trials(1920, 6*time.Second), Repeated: 40, Matrix: campaign.Matrix{Cells: cells},
		}, []string{
			"1920 trials in 41 s, 46.8 a second; 40 trials repeated: identical",
			"virtual time: 3h12m in 41 s (281x)",
			"to see a violation again, c under reset for one: lockstorm replay c",
		}},
		{"a lock that varies", campaign.Stored{
			Info: campaign.Info{Elapsed: time.Second, Varying: []campaign.Varying{{Lock: "b"}, {Lock: "a"}, {Lock: "b"}}}, Trials: trials(1, 0), Repeated: 4,
		}, []string{
			"1 trial in 1.0 s, 1 a second; 4 trials repeated: identical; other trials of a and b differed",
		}},
		{"only a lock that varies", campaign.Stored{
			Info: campaign.Info{Elapsed: time.Second, Varying: []campaign.Varying{{Lock: "b"}}}, Trials: trials(1, 0),
		}, []string{
			"1 trial in 1.0 s, 1 a second; trials of b, repeated, differed",
		}},
		{"one trial that holds", campaign.Stored{Info: campaign.Info{Elapsed: 500 * time.Millisecond, Deterministic: true}, Trials: trials(1, time.Minute), Repeated: 1}, []string{
			"1 trial in 0.5 s, 2 a second; 1 trial repeated: identical",
			"virtual time: 1m0s in 0.5 s (120x)",
		}},
	}
	for _, test := range tests {
		if got := pace(test.s); !slices.Equal(got, test.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", test.name, got, test.want)
		}
	}
}
