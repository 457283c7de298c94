package plots

import (
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/cell"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// fairnessNeeds says when there is no plot of fairness.
const fairnessNeeds = "In no trial did several clients get a lock as often as there were clients."

// fairness returns the median of Jain's index in each cell, over the trials in which it means
// anything (cell.Shared). Cells without such trials are left out.
func fairness(trials []trial.Result) map[cell.Key]float64 {
	all := map[cell.Key][]float64{}
	for _, t := range trials {
		if cell.Measurable(t) && cell.Shared(*t.Progress) {
			at := cell.Key{Lock: t.Spec.Lock, Fault: t.Spec.Fault}
			all[at] = append(all[at], t.Progress.Jain)
		}
	}
	out := map[cell.Key]float64{}
	for at, indices := range all {
		slices.Sort(indices)
		out[at] = indices[len(indices)/2]
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
	return heatMap(c.Matrix, title, axis, func(n svg.Canvas, at campaign.Cell, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Wash, x0, y0, x1, y1)
		jain, seen := cells[cell.Key{Lock: at.Lock, Fault: at.Fault}]
		switch {
		case at.Verdict == trial.NotSupported:
			return
		case !seen:
			n.Hatch(svg.Line(svg.Rule, 0.7), 4, x0, y0, x1, y1)
			return
		}
		sty := svg.TextStyle(svg.FontSmall, svg.Ink, draw.XCenter, draw.YCenter)
		shade := min(1, max(0, 2*(1-jain)))
		n.Box(svg.Alpha(svg.Doubt, 0.1+0.8*shade), x0, y0, x1, y1)
		if shade > 0.7 {
			sty.Color = svg.OnInk
		}
		n.Text(sty, (x0+x1)/2, (y0+y1)/2+1, strconv.FormatFloat(jain, 'f', 2, 64))
	})
}
