package plots

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// breaksNeed says how a campaign gets the plot of its sweeps.
const breaksNeed = "It needs trials in which nothing differs but the size of the fault: lockstorm run --sweep."

// leastJudged is the minimum number of judged trials for a meaningful share.
const leastJudged = 5

// swept counts the trials of a sweep that have the same size.
type swept struct {
	trials, judged, violated int
}

func (s swept) enough() bool { return s.judged >= leastJudged }

// sweepAt identifies the trials of a sweep that have the same recipe, workload, fault and size.
type sweepAt struct {
	lock, workload, fault string
	size                  float64
}

// sweeps counts the trials of all sweeps. A trial is judged if it was violated or blocked, or if
// its fault hit something and every oracle could decide. A blocked trial does not count as
// violated.
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

// sizesOf returns the sizes of a fault's sweep, ascending.
func sizesOf(all map[sweepAt]swept, fault string) (sizes []float64) {
	for at := range all {
		if at.fault == fault && !slices.Contains(sizes, at.size) {
			sizes = append(sizes, at.size)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// plotBreaks draws, for each fault with a sweep, the share of violated trials by the fault's size
// in lease times.
func plotBreaks(c Campaign) *svg.Picture {
	all, in := sweeps(c.Trials), ComparedIn(c.Trials)
	recipes, faults := CellAxes(c.Matrix)
	recipes = slices.DeleteFunc(recipes, func(recipe string) bool {
		for at, s := range all {
			if at.lock == recipe && at.workload == in[recipe] && s.enough() {
				return false
			}
		}
		return true
	})
	if len(recipes) == 0 {
		return nil
	}
	var panels []panel
	for _, fault := range faults {
		if sizes := sizesOf(all, fault); len(sizes) > 0 {
			panels = append(panels, breaksPanel(fault, c.Sizes[fault], sizes, recipes, func(recipe string, size float64) swept {
				return all[sweepAt{recipe, in[recipe], fault, size}]
			}))
		}
	}
	return chart("Where each recipe breaks: violated trials in percent", panels...)
}

// breaksPanel returns the panel of one fault; measure says what the fault's sizes measure.
func breaksPanel(fault, measure string, sizes []float64, recipes []string, count func(recipe string, size float64) swept) panel {
	least, most, few := math.MaxInt, 0, ""
	for _, recipe := range recipes {
		for _, size := range sizes {
			if s := count(recipe, size); s.enough() {
				least, most = min(least, s.judged), max(most, s.judged)
			} else {
				few = fmt.Sprintf(" · hatched: below %d", leastJudged)
			}
		}
	}
	axis := fmt.Sprintf("%s: %s · each of %s trials%s · line: one TTL", fault, measure, fromTo(least, most), few)
	return panel{axis, recipes, 8, vg.Length(len(recipes)*plotRow + 50), func(g *plot.Plot) {
		g.X.Min, g.X.Max = -0.5, float64(len(sizes))-0.5
		var ticks []plot.Tick
		for i, size := range sizes {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: signed(size, sizes[0] < 0)})
		}
		g.X.Tick.Marker = plot.ConstantTicks(ticks)
		g.X.Tick.Length, g.X.LineStyle.Width = 0, 0
	}, func(n svg.Canvas, x, y func(float64) vg.Length) {
		for row, recipe := range recipes {
			for column, size := range sizes {
				i, j := float64(row), float64(column)
				breaksCell(n, count(recipe, size), x(j-0.5)+0.7, y(-i-0.5)+0.7, x(j+0.5)-0.7, y(-i+0.5)-0.7)
			}
		}
		for i := range sizes[1:] {
			if within(sizes[i]) != within(sizes[i+1]) {
				at := x(float64(i) + 0.5)
				n.Lines(svg.Line(svg.Ink, 1.2), vg.Point{X: at, Y: y(0.5)}, vg.Point{X: at, Y: y(-float64(len(recipes)) + 0.5)})
			}
		}
	}}
}

// within reports whether a fault of this size stays below one lease time.
func within(size float64) bool { return math.Abs(size) < 1 }

// breaksCell paints the share of violated trials for one size. A size with too few judged trials
// is hatched.
func breaksCell(n svg.Canvas, s swept, x0, y0, x1, y1 vg.Length) {
	n.Box(svg.Wash, x0, y0, x1, y1)
	if !s.enough() {
		n.Hatch(svg.Line(svg.Rule, 0.7), 4, x0, y0, x1, y1)
		return
	}
	share := float64(s.violated) / float64(s.judged)
	sty := svg.TextStyle(svg.FontSmall, svg.Ink, draw.XCenter, draw.YCenter)
	if share > 0 {
		n.Box(svg.Alpha(svg.Alarm, 0.2+0.8*share), x0, y0, x1, y1)
	}
	if share > 0.5 {
		sty.Color = svg.OnInk
	}
	n.Text(sty, (x0+x1)/2, (y0+y1)/2+1, strconv.Itoa(int(math.Round(100*share))))
}

// signed writes a size. If sizes of both signs stand side by side, positive ones get a plus sign.
func signed(size float64, both bool) string {
	text := strconv.FormatFloat(size, 'g', -1, 64)
	switch {
	case size < 0:
		return "−" + strings.TrimPrefix(text, "-")
	case both:
		return "+" + text
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

// breaksTable returns the counts of all sweeps, in the matrix's order. It includes workloads that
// the plot omits.
func breaksTable(c Campaign) [][]string {
	all := sweeps(c.Trials)
	recipes, faults := CellAxes(c.Matrix)
	rows := [][]string{{"recipe", "workload", "fault", "size in TTL", "trials", "judged", "violated"}}
	for _, fault := range faults {
		for _, recipe := range recipes {
			var workloads []string
			for at := range all {
				if at.lock == recipe && at.fault == fault && !slices.Contains(workloads, at.workload) {
					workloads = append(workloads, at.workload)
				}
			}
			slices.Sort(workloads)
			for _, workload := range workloads {
				for _, size := range sizesOf(all, fault) {
					if s := all[sweepAt{recipe, workload, fault, size}]; s.trials > 0 {
						rows = append(rows, []string{recipe, workload, fault, strconv.FormatFloat(size, 'g', -1, 64), strconv.Itoa(s.trials), strconv.Itoa(s.judged), strconv.Itoa(s.violated)})
					}
				}
			}
		}
	}
	return rows
}
