package campaign

import (
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// cover sets Covered and LastNew. trials are the cell's stored trials; more counts its further trials.
func (c *Cell) cover(info Info, trials []trial.Result, more Tally) {
	inTurn := slices.SortedFunc(slices.Values(trials), func(a, b trial.Result) int {
		return orderOf(a.Spec).compare(orderOf(b.Spec))
	})
	seen, planned := map[string]bool{}, 0
	for _, t := range inTurn {
		further := info.Further != nil && !t.Spec.Named() && t.Spec.DrawnFrom == 0 && t.Spec.Trial >= info.furtherFrom()
		known := len(seen)
		for _, b := range t.Operations {
			seen[b] = true
		}
		if further {
			continue // most further trials are not stored: more has their numbers
		}
		if planned++; len(seen) > known {
			c.LastNew = planned
		}
	}
	if more.LastNew > 0 {
		c.LastNew = planned + more.LastNew
	}
	c.Covered = len(seen)
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
