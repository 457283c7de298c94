package plots

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// breaksNeed says how a campaign gets the plot of its sweeps.
const breaksNeed = "It needs trials in which nothing differs but the size of the fault: lockstorm run --sweep."

// leastJudged is the minimum number of judged trials for a meaningful share.
const leastJudged = 5

// sweepAt identifies the trials of a sweep that have the same recipe, workload, fault and size.
type sweepAt struct {
	lock, workload, fault string
	size                  float64
}

// swept counts the trials of a sweep that have the same size. A trial is judged if it was violated or blocked, or
// if its fault hit something and every oracle could decide. A blocked trial does not count as violated.
type swept struct {
	trials, judged, violated int
}

func (s swept) enough() bool { return s.judged >= leastJudged }

// sweeps counts the trials of all sweeps.
func sweeps(trials []trial.Result) map[sweepAt]swept {
	out := map[sweepAt]swept{}
	for _, t := range trials {
		if t.Spec.Size == 0 {
			continue
		}
		at := sweepAt{t.Spec.Lock, t.Spec.Workload, t.Spec.Fault, t.Spec.Size}
		s := out[at]
		s.trials++
		if t.Decided() {
			s.judged++
		}
		if t.Outcome == trial.Violated {
			s.violated++
		}
		out[at] = s
	}
	return out
}

// plotBreaks draws, for each fault with a sweep, the share of violated trials by the fault's size in lease times.
// A size with too few judged trials is hatched. The figures include workloads that the plot omits.
func plotBreaks(c Campaign) (*chart, [][]string) {
	all, in := sweeps(c.Trials), ComparedIn(c.Trials)
	recipes, faults := CellAxes(c.Matrix)
	drawn := slices.DeleteFunc(slices.Clone(recipes), func(recipe string) bool {
		for at, s := range all {
			if at.lock == recipe && at.workload == in[recipe] && s.enough() {
				return false
			}
		}
		return true
	})
	table := [][]string{{"recipe", "workload", "fault", "size in TTL", "trials", "judged", "violated"}}
	out := newChart("Where each recipe breaks: violated trials in percent")
	for _, fault := range faults {
		sizes := map[float64]bool{}
		workloads := map[string]bool{}
		for at := range all {
			if at.fault == fault {
				sizes[at.size], workloads[at.workload] = true, true
			}
		}
		ascending := slices.Sorted(maps.Keys(sizes))
		if len(sizes) > 0 {
			known, _ := nemesis.ByName(fault)
			out.breaks(fault+": "+known.Axis(), ascending, drawn, func(row, column int) swept {
				return all[sweepAt{drawn[row], in[drawn[row]], fault, ascending[column]}]
			})
		}
		for _, recipe := range recipes {
			for _, workload := range slices.Sorted(maps.Keys(workloads)) {
				for _, size := range ascending {
					if s := all[sweepAt{recipe, workload, fault, size}]; s.trials > 0 {
						table = append(table, []string{recipe, workload, fault, strconv.FormatFloat(size, 'g', -1, 64), strconv.Itoa(s.trials), strconv.Itoa(s.judged), strconv.Itoa(s.violated)})
					}
				}
			}
		}
	}
	if len(drawn) == 0 {
		return nil, table
	}
	return out, table
}

// breaks adds the panel of one fault. what names the fault, and what its sizes measure.
func (c *chart) breaks(what string, sizes []float64, recipes []string, count func(row, column int) swept) {
	p := c.panel(recipes, plotRow, -0.5, float64(len(sizes))-0.5)
	least, most, few := math.MaxInt, 0, ""
	p.heat(len(recipes), len(sizes), func(row, column int) shade {
		s := count(row, column)
		if !s.enough() {
			few = fmt.Sprintf(" · hatched: below %d", leastJudged)
			return noFigure
		}
		least, most = min(least, s.judged), max(most, s.judged)
		share := float64(s.violated) / float64(s.judged)
		return shade{svg.Alarm, share, strconv.Itoa(int(math.Round(100 * share)))}
	})
	var ticks []tick
	for i, size := range sizes {
		if i > 0 && (math.Abs(size) < 1) != (math.Abs(sizes[i-1]) < 1) {
			x := p.x(float64(i) - 0.5)
			p.Line(svg.Text, 1.2, x, p.top, x, p.Height)
		}
		ticks = append(ticks, tick{float64(i), signed(size, sizes[0] < 0)})
	}
	p.axis(fmt.Sprintf("%s · each of %s trials%s · line: one TTL", what, fromTo(least, most), few), false, ticks)
}

// signed writes a size. If sizes of both signs stand side by side, positive ones get a plus sign.
func signed(size float64, both bool) string {
	text := strings.Replace(strconv.FormatFloat(size, 'g', -1, 64), "-", "−", 1)
	if both && size >= 0 {
		text = "+" + text
	}
	return text
}

// fromTo writes a range of counts; "too few" if it is empty.
func fromTo(least, most int) string {
	switch {
	case least > most:
		return "too few"
	case least == most:
		return strconv.Itoa(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
