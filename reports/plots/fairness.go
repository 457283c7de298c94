package plots

import (
	"slices"
	"strconv"

	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// fairnessNeeds says what the campaign lacks if there is no plot of fairness.
const fairnessNeeds = "In no trial did several clients get a lock as often as there were clients."

// fairness returns the median of Jain's index in each cell, over the measurable trials in which the
// index is meaningful (Shared). Cells without such trials are left out.
func fairness(trials []trial.Result) map[CellKey]float64 {
	all := map[CellKey][]float64{}
	for _, t := range trials {
		if Measurable(t) && Shared(*t.Progress) {
			at := CellKey{Lock: t.Spec.Lock, Fault: t.Spec.Fault}
			all[at] = append(all[at], t.Progress.Jain)
		}
	}
	out := map[CellKey]float64{}
	for at, indices := range all {
		slices.Sort(indices)
		out[at] = indices[(len(indices)-1)/2] // of two in the middle the lower one, as in the tables
	}
	return out
}

// plotFairness draws a heat map of how evenly clients got the lock.
func plotFairness(c Campaign) *svg.Picture {
	cells := fairness(c.Trials)
	if len(cells) == 0 {
		return nil
	}
	title := "How evenly clients got the lock: Jain's index, median of trials"
	axis := "1: all clients got it as often · 0.5: as if half of them got it always · hatched: too few grants to tell"
	return figureMap(c.Matrix, title, axis, func(at CellKey) (shade, bool) {
		jain, seen := cells[at]
		unfair := min(1, max(0, 2*(1-jain)))
		return shade{svg.Alpha(svg.Doubt, 0.1+0.8*unfair), unfair > 0.7, strconv.FormatFloat(jain, 'f', 2, 64)}, seen
	})
}
