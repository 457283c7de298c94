package campaign

import (
	"maps"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

func TestACampaignCountsTheBehavioursOfItsCells(t *testing.T) {
	s := shardRun(t, func(c *Config) {
		c.Locks, c.Faults, c.Workloads, c.Trials = []string{"set-nx-px"}, []string{"client-pause"}, []string{"mutex"}, 3
	})
	c := s.Matrix.Cells[0]
	seen := map[string]bool{}
	for _, r := range s.Trials {
		if r.Spec.Fault != c.Fault {
			continue
		}
		for _, b := range r.Operations {
			seen[b] = true
		}
	}
	if c.Covered == 0 || c.Covered != len(seen) || c.LastNew < 1 || c.LastNew > c.Trials {
		t.Errorf("%d behaviours, the last new one in trial %d of %d; the trials have %d", c.Covered, c.LastNew, c.Trials, len(seen))
	}
	for _, want := range []string{
		"acquire ok, yes", "acquire fail, busy, no", "release ok, yes",
		"release fail, not-held, over, no", // the pause outlasted the lease
	} {
		if !seen[want] {
			t.Errorf("%q was not seen among %q", want, slices.Sorted(maps.Keys(seen)))
		}
	}
}

func TestLastNewCountsTrialsInTheirOrder(t *testing.T) {
	of := func(schedule string, k int, all ...string) trial.Result {
		return trial.Result{Spec: trial.Spec{Workload: "mutex", Schedule: schedule, Trial: k}, Operations: all}
	}
	named, other, first, second := of("hold-1of2", 0, "a", "b"), of("hold-2of2", 1, "b"), of("", 0, "a"), of("", 1, "b")
	for name, c := range map[string]struct {
		trials           []trial.Result
		further          *Further
		more             Tally
		covered, lastNew int
	}{
		"nothing was seen":                     {[]trial.Result{of("", 0)}, nil, Tally{}, 0, 0},
		"the first showed all":                 {[]trial.Result{second, first, other, named}, nil, Tally{}, 2, 1},
		"a drawn trial is later":               {[]trial.Result{second, of("", 2, "c"), other, named}, nil, Tally{}, 3, 4},
		"further trials are counted apart":     {[]trial.Result{named, other, first, of("", 90, "c")}, &Further{}, Tally{Ran: 51, LastNew: 51}, 3, 54},
		"further trials that show nothing new": {[]trial.Result{named, other, first, of("", 90, "b")}, &Further{}, Tally{Ran: 51}, 2, 1},
	} {
		var cell Cell
		config := DefaultConfig()
		config.Trials = 2
		cell.cover(Info{Config: config, Further: c.further}, slices.Clone(c.trials), c.more)
		if cell.Covered != c.covered || cell.LastNew != c.lastNew {
			t.Errorf("%s: %d behaviours, the last in trial %d; want %d, %d", name, cell.Covered, cell.LastNew, c.covered, c.lastNew)
		}
	}
}
