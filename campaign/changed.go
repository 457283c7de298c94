package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/trial"
)

// widen returns the named trials that the corpus left out of recipes whose trials of the corpus have other histories
// under a fault than when it was made: what has changed may show only in other trials. A shard runs only some of the
// corpus' trials, and leaves them out.
func (r *run) widen(cells []plannedCell) ([]job, error) {
	if r.Config.Shard.Part() {
		return nil, nil
	}
	var lists [][]trial.Spec
	for i := range cells {
		if c := &cells[i]; slices.Contains(r.changed, c.recipe.ID) {
			lists = append(lists, c.left)
			c.named, c.unlisted, c.left = c.named+len(c.left), c.unlisted+len(c.left), nil
		}
	}
	return inTurn(lists), nil
}

// leftOut reports whether the campaign left out named schedules of the recipe.
func (i Info) leftOut(lock string) bool {
	return slices.ContainsFunc(i.Plan, func(p PlannedCell) bool { return p.Lock == lock && p.Skipped > 0 })
}

// ChangedLines says in sentences without a full stop which recipes are not those that the corpus knows, and
// with which command all their schedules run, with the options of the campaign; none if there are no such
// recipes.
func (i Info) ChangedLines(changed []Changed) (lines []string) {
	var whole, ran, part, counts []string
	for _, c := range changed {
		counts = append(counts, fmt.Sprintf("%s (%d)", c.Lock, c.Trials))
		switch {
		case i.Interrupted:
			part = append(part, c.Lock)
		case c.Probes > 0:
			whole = append(whole, c.Lock)
		case i.leftOut(c.Lock):
			part = append(part, c.Lock)
		default:
			ran = append(ran, c.Lock)
		}
	}
	if len(counts) == 0 {
		return nil
	}
	lines = []string{"trials of the corpus have other histories than when it was made, of " + strings.Join(counts, ", ")}
	if len(whole) > 0 {
		lines = append(lines, "without a fault too: the corpus chose nothing of "+strings.Join(whole, ", ")+", and every named schedule ran")
	}
	if len(ran) > 0 {
		lines = append(lines, "every named schedule of "+strings.Join(ran, ", ")+" ran")
	}
	if len(part) > 0 {
		lines = append(lines, "what has changed may show in trials that the corpus did not select; all: "+i.Config.command(part, "--thorough"))
	}
	all := strings.Join(slices.Concat(whole, ran, part), ",")
	return append(lines, "which: lockstorm corpus diff --histories --locks "+all, "once the change is as it should be, write the lists anew: lockstorm corpus make --locks "+all)
}
