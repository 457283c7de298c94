package reports

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// campaignPlot is a picture of a whole campaign. Draw returns nil if there is
// nothing to show.
type campaignPlot struct {
	File, Title string
	Draw        func(r result) ([]byte, error)
}

// campaignPlots are all plots, in the report's order.
var campaignPlots = []campaignPlot{
	{"violations.svg", "Share of violated trials", plotViolations},
	{"verdicts.svg", "Verdicts of each recipe", plotVerdicts},
	{"acquire.svg", "Time of an acquire, undisturbed", plotLatency},
	{"recovery.svg", "Longest time until somebody got in after a fault, in any workload", plotRecovery},
}

// drawPlots draws every plot that has something to show.
func drawPlots(r result) ([]plotView, error) {
	var out []plotView
	for _, p := range campaignPlots {
		picture, err := p.Draw(r)
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", p.File, err)
		}
		if picture != nil {
			out = append(out, plotView{p.File, p.Title, picture})
		}
	}
	return out, nil
}

const (
	plotWidth = 560
	plotRow   = 15
)

// chart draws a gonum plot with a title and one row per name, from top to bottom. x sets
// up the X axis, and paint draws the rows.
func chart(title, axis string, names []string, bottom, height vg.Length, x func(*plot.Plot), paint func(n svg.Pen, x, y func(float64) vg.Length)) ([]byte, error) {
	return svg.Draw(plotWidth, height, title, func(c draw.Canvas) {
		c.SetColor(svg.Paper)
		c.Fill(c.Rectangle.Path())
		n := svg.Pen{Canvas: c}
		n.Text(svg.Bold(svg.TextStyle(12, svg.Ink, draw.XLeft, draw.YTop)), c.Min.X+10, c.Max.Y-8, title)
		g := plot.New()
		g.BackgroundColor = nil
		g.Y.Min, g.Y.Max = -float64(len(names))+0.5, 0.5
		g.Y.LineStyle.Width, g.Y.Tick.Length = 0, 0
		g.X.Padding, g.Y.Padding = 2, 4
		g.X.Label.Text = axis
		g.X.Label.TextStyle = svg.TextStyle(svg.FontLabel, svg.Muted, draw.XCenter, draw.YBottom)
		g.X.Tick.Label = svg.TextStyle(svg.FontLabel, svg.Ink, draw.XCenter, draw.YTop)
		g.X.LineStyle, g.X.Tick.LineStyle = svg.Line(svg.Muted, 0.6), svg.Line(svg.Muted, 0.6)
		g.Y.Tick.Label = svg.TextStyle(svg.FontLabel, svg.Ink, draw.XRight, draw.YCenter)
		var ticks []plot.Tick
		for i, name := range names {
			ticks = append(ticks, plot.Tick{Value: -float64(i), Label: name})
		}
		g.Y.Tick.Marker = plot.ConstantTicks(ticks)
		x(g)
		g.Add(painting(func(c draw.Canvas, g *plot.Plot) {
			tx, ty := g.Transforms(&c)
			paint(svg.Pen{Canvas: c}, tx, ty)
		}))
		g.Draw(draw.Crop(c, 8, -14, bottom, -30))
	})
}

// painting makes a function a plot.Plotter.
type painting func(draw.Canvas, *plot.Plot)

// Plot implements plot.Plotter.
func (p painting) Plot(c draw.Canvas, g *plot.Plot) { p(c, g) }

// plotViolations draws a heat map of the share of violated trials.
func plotViolations(r result) ([]byte, error) {
	if len(r.Matrix.Cells) == 0 {
		return nil, nil
	}
	return heatMap(r.Matrix, "Violated trials of each cell, in percent", "red: violated · purple: only blocked · hatched: not judged · blank: not supported", heat)
}

// heatMap draws recipes down and faults across; paint paints one cell.
func heatMap(m campaign.Matrix, title, axis string, paint func(n svg.Pen, c campaign.Cell, x0, y0, x1, y1 vg.Length)) ([]byte, error) {
	recipes, faults := axes(m)
	height := vg.Length(len(recipes)*plotRow + 142)
	return chart(title, axis, recipes, 4, height, func(g *plot.Plot) {
		g.X.Min, g.X.Max = -0.5, float64(len(faults))-0.5
		var ticks []plot.Tick
		for i, f := range faults {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: f})
		}
		g.X.Tick.Marker = plot.ConstantTicks(ticks)
		g.X.Tick.Length, g.X.LineStyle.Width = 0, 0
		g.X.Tick.Label.Rotation = math.Pi / 3
		g.X.Tick.Label.XAlign, g.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}, func(n svg.Pen, x, y func(float64) vg.Length) {
		for _, c := range m.Cells {
			i, j := float64(slices.Index(recipes, c.Lock)), float64(slices.Index(faults, c.Fault))
			paint(n, c, x(j-0.5)+0.7, y(-i-0.5)+0.7, x(j+0.5)-0.7, y(-i+0.5)-0.7)
		}
	})
}

// heat paints one cell of the heat map; hatched if it was not judged.
func heat(n svg.Pen, c campaign.Cell, x0, y0, x1, y1 vg.Length) {
	n.Box(svg.Wash, x0, y0, x1, y1)
	switch {
	case c.Verdict == trial.NotSupported:
		return
	case c.Verdict == trial.NotExercised || c.Verdict == trial.Unknown || c.Exercised == 0:
		n.Hatch(svg.Line(svg.Rule, 0.7), 4, x0, y0, x1, y1)
		return
	}
	share := float64(c.Violations) / float64(c.Exercised)
	col := svg.Alarm
	if c.Verdict == trial.Blocked {
		col = svg.ClientInks[3]
	}
	sty := svg.TextStyle(svg.FontSmall, svg.Ink, draw.XCenter, draw.YCenter)
	if share > 0 {
		n.Box(svg.Alpha(col, 0.2+0.8*share), x0, y0, x1, y1)
		if share > 0.5 {
			sty.Color = svg.OnInk
		}
	}
	n.Text(sty, (x0+x1)/2, (y0+y1)/2+1, strconv.Itoa(int(math.Round(100*share))))
}

// verdictInks colour the verdicts in plots.
var verdictInks = []struct {
	class, label string
	ink          color.NRGBA
}{
	{"new", "undeclared", svg.RGB(0x6E0015)},
	{"bug", "bug", svg.Alarm},
	{"limit", "limit", svg.RGB(0xF2B53C)},
	{"block", "blocked for ever", svg.RGB(0x7B2D8B)},
	{"ttl", "blocked up to TTL", svg.RGB(0x79BFDB)},
	{"unknown", "unknown", svg.RGB(0x9AA4AE)},
	{"holds", "no violation", svg.RGB(0x7CC49A)},
}

// plotVerdicts draws a bar per recipe, divided by the verdicts of its cells.
func plotVerdicts(r result) ([]byte, error) {
	recipes, faults := axes(r.Matrix)
	if len(r.Matrix.Cells) == 0 {
		return nil, nil
	}
	height := vg.Length(len(recipes)*plotRow + 100)
	var used []string
	for _, c := range r.Matrix.Cells {
		used = append(used, classOf(c))
	}
	return chart("Faults by verdict", "faults", recipes, 22, height, func(g *plot.Plot) {
		g.X.Min, g.X.Max = 0, float64(len(faults))
		g.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	}, func(n svg.Pen, x, y func(float64) vg.Length) {
		for i, recipe := range recipes {
			from := 0
			for _, v := range verdictInks {
				count := 0
				for _, c := range r.Matrix.Cells {
					if c.Lock == recipe && classOf(c) == v.class {
						count++
					}
				}
				n.Box(v.ink, x(float64(from)), y(-float64(i))-4.5, x(float64(from+count))-0.6, y(-float64(i))+4.5)
				from += count
			}
		}
		sty := svg.TextStyle(svg.FontSmall, svg.Muted, draw.XLeft, draw.YCenter)
		at := vg.Length(12)
		for _, v := range verdictInks {
			if slices.Contains(used, v.class) {
				n.Box(v.ink, at, 8, at+9, 17)
				n.Text(sty, at+12, 13.5, v.label)
				at += sty.Width(v.label) + 24
			}
		}
	})
}

func wholeTicks(from, to float64) []plot.Tick {
	step := max(1, svg.RoundStep((to-from)/10))
	var ticks []plot.Tick
	for v := 0.0; v <= to; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.Itoa(int(v))})
	}
	return ticks
}

// plotLatency shows the acquires' median, 90th and 99th percentile on a
// logarithmic scale.
func plotLatency(r result) ([]byte, error) {
	if len(r.Latency) == 0 {
		return nil, nil
	}
	var names []string
	lo, hi := math.Inf(1), 0.0
	for _, l := range r.Latency {
		names = append(names, l.Lock)
		lo, hi = min(lo, log(l.Min)), max(hi, log(l.P99))
	}
	lo, hi = math.Floor(lo*4)/4, math.Ceil(hi*4)/4
	if hi <= lo {
		hi = lo + 1
	}
	height := vg.Length(len(names)*plotRow + 98)
	return chart("Acquire without faults: least to 99th percentile; the bar is median to 90th", "one attempt; a recipe with a waiting of its own waits in it", names, 4, height, func(g *plot.Plot) {
		g.X.Min, g.X.Max = lo, hi
		g.X.Tick.Marker = plot.TickerFunc(logTicks)
	}, func(n svg.Pen, x, y func(float64) vg.Length) {
		for _, t := range logTicks(lo, hi) {
			n.Lines(svg.Line(svg.Rule, 0.4), vg.Point{X: x(t.Value), Y: y(0.5)}, vg.Point{X: x(t.Value), Y: y(-float64(len(names)) + 0.5)})
		}
		for i, l := range r.Latency {
			mid := y(-float64(i))
			n.Lines(svg.Line(svg.Muted, 0.8), vg.Point{X: x(log(l.Min)), Y: mid}, vg.Point{X: x(log(l.P99)), Y: mid})
			n.Box(svg.Alpha(svg.ClientInks[0], 0.45), x(log(l.Median)), mid-4, max(x(log(l.P90)), x(log(l.Median))+1), mid+4)
			n.Box(svg.ClientInks[0], x(log(l.Median))-1, mid-5, x(log(l.Median))+1, mid+5)
		}
	})
}

// log returns the decimal logarithm of a duration in microseconds.
func log(d time.Duration) float64 { return math.Log10(max(0.1, float64(d.Nanoseconds())/1000)) }

// logTicks labels 1, 2 and 5 times each power of ten of microseconds; if there are many
// powers, only 1.
func logTicks(from, to float64) []plot.Tick {
	var ticks []plot.Tick
	for power := math.Floor(from); power <= to; power++ {
		for _, m := range []float64{1, 2, 5} {
			if v := power + math.Log10(m); v >= from && v <= to && (m == 1 || to-from < 2.5) {
				us := m * math.Pow(10, power)
				ticks = append(ticks, plot.Tick{Value: v, Label: strings.Replace(prose.Length(time.Duration(us*1000)), " ", "\u00a0", 1)})
			}
		}
	}
	return ticks
}
