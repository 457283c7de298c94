package campaign

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// cover sets Covered and LastNew from the cell's stored trials. Trials is already set.
func (c *Cell) cover(info Info, p PlannedCell, trials []trial.Result) {
	inTurn := slices.SortedFunc(slices.Values(trials), func(a, b trial.Result) int {
		return cmp.Or(a.Spec.Turn().Compare(b.Spec.Turn()), cmp.Compare(a.Spec.Workload, b.Spec.Workload))
	})
	seen, number := map[progress.Behaviour]bool{}, 0
	for _, t := range inTurn {
		round := t.Spec.Trial - info.Config.Trials
		further := info.Further != nil && !t.Spec.Named() && round >= 0
		if !further {
			number++
		}
		known := len(seen)
		for _, b := range t.Behaviours {
			seen[b] = true
		}
		if len(seen) > known {
			c.LastNew = number
			if further { // most further trials are not stored; some rounds may have left the cell out
				c.LastNew += round*len(p.Workloads) + 1 + slices.Index(p.Workloads, t.Spec.Workload)
			}
		}
	}
	c.Covered, c.LastNew = len(seen), min(c.LastNew, c.Trials)
}

// CoverageSentence says for a reader how many behaviours the cell's trials covered, and when the
// last new one came; "" if there is none.
func (c Cell) CoverageSentence() string {
	if c.Covered == 0 {
		return ""
	}
	return fmt.Sprintf("The trials covered %d %s; the last new one came in trial %d of %d.",
		c.Covered, wording.Plural(c.Covered, "behaviour"), c.LastNew, c.Trials)
}
