package campaign

import (
	"slices"
	"strings"
)

// TooFew counts the trials in which a missed flaw was looked for, if they were
// too few to run every variant of its faults' plans; else it is 0.
func (s Stored) TooFew(missed Surprise) int {
	faults := strings.Split(missed.Fault, ",")
	short := slices.ContainsFunc(s.Info.Plan, func(p PlannedCell) bool {
		return p.Lock == missed.Lock && slices.Contains(faults, p.Fault) && p.Variants > s.Info.Config.Trials
	})
	if !short {
		return 0
	}
	n := 0
	for _, t := range s.Trials {
		if t.Spec.Lock == missed.Lock && slices.Contains(faults, t.Spec.Fault) {
			n++
		}
	}
	return n
}
