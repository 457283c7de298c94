package plots

import (
	"math"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// damageNeeds says what the campaign lacks if there is no plot of damage.
const damageNeeds = "No trial counted its updates; versions before this one did not."

// damage counts the updates of a cell's trials.
type damage struct {
	trials, updates, lost int
	lasted                time.Duration
}

// perHour returns the lost updates per hour of trial time.
func (d damage) perHour() float64 { return float64(d.lost) / d.lasted.Hours() }

// damages sums up the updates of each cell, over the measurable trials with updates. Only trials of
// the recipe's workload (ComparedIn) count.
func damages(trials []trial.Result) map[CellKey]damage {
	in := ComparedIn(trials)
	out := map[CellKey]damage{}
	for _, t := range trials {
		if !Measurable(t) || t.Progress.Updates == 0 || t.Spec.Workload != in[t.Spec.Lock] {
			continue
		}
		at := CellKey{Lock: t.Spec.Lock, Fault: t.Spec.Fault}
		d := out[at]
		d.trials, d.updates, d.lost = d.trials+1, d.updates+t.Progress.Updates, d.lost+t.Progress.LostUpdates
		d.lasted += t.Progress.Lasted
		out[at] = d
	}
	return out
}

// plotDamage draws a heat map of the lost updates per hour of trials.
func plotDamage(c Campaign) *svg.Picture {
	cells := damages(c.Trials)
	if len(cells) == 0 {
		return nil
	}
	axis := "by the trials' clock · dark: 10,000 or more · hatched: no update was seen"
	return figureMap(c.Matrix, "Lost updates per hour, with a fault every few seconds", axis, func(at CellKey) (shade, bool) {
		d, seen := cells[at]
		s := shade{text: short(d.perHour())}
		if d.lost > 0 {
			many := min(1, math.Log10(1+d.perHour())/4)
			s.ink, s.dark = svg.Alpha(svg.Alarm, 0.1+0.9*many), many > 0.55
		}
		return s, seen
	})
}

// short writes a rate below 999.5 million in at most four characters, such as "0", "0.3", "12", "3400",
// "12k" or "7M".
func short(rate float64) string {
	switch {
	case rate == 0:
		return "0"
	case rate < 0.1:
		return "<0.1"
	case rate < 9.95:
		return strconv.FormatFloat(rate, 'f', 1, 64)
	case rate < 99.5:
		return strconv.FormatFloat(rate, 'f', 0, 64)
	case rate < 9995:
		return strconv.FormatFloat(math.Round(rate/10)*10, 'f', 0, 64)
	}
	if rate >= 999.5e3 {
		return strconv.FormatFloat(rate/1e6, 'f', 0, 64) + "M"
	}
	return strconv.FormatFloat(rate/1000, 'f', 0, 64) + "k"
}

// damageTable returns the figures behind the plot, in the matrix's order.
func damageTable(c Campaign) [][]string {
	cells, in := damages(c.Trials), ComparedIn(c.Trials)
	recipes, faults := CellAxes(c.Matrix)
	rows := [][]string{{"recipe", "workload", "fault", "trials", "seconds", "updates", "lost updates", "lost updates per hour"}}
	for _, recipe := range recipes {
		for _, fault := range faults {
			if d, ok := cells[CellKey{Lock: recipe, Fault: fault}]; ok {
				rows = append(rows, []string{
					recipe, in[recipe], fault, strconv.Itoa(d.trials), strconv.FormatFloat(d.lasted.Seconds(), 'f', 3, 64),
					strconv.Itoa(d.updates), strconv.Itoa(d.lost), strconv.FormatFloat(d.perHour(), 'f', 1, 64),
				})
			}
		}
	}
	return rows
}
