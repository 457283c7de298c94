package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial/decision"
)

// decisionHeight is the height of the plot of a decision.
const decisionHeight = 210

// Decision draws when the violation of a trial became certain: the share of violated continuations
// (package decision) by the instant at which all their faults end. color returns a fault's colour
// as "#rrggbb".
func Decision(d decision.Decision, e history.Evidence, color func(fault string) string) svg.Picture {
	title := fmt.Sprintf("When the violation was decided: %s by %s", d.Flaw.Oracle, d.Flaw.Cause)
	return svg.Picture{Width: plotWidth, Height: decisionHeight, What: title, Paint: func(c draw.Canvas) {
		c.SetColor(svg.Paper)
		c.Fill(c.Rectangle.Path())
		n := svg.Canvas{Canvas: c}
		n.Text(titleStyle, c.Min.X+10, c.Max.Y-8, title)
		a := plot.New()
		a.BackgroundColor = nil
		a.X.Min, a.X.Max = 0, d.Shown.Seconds()*1.02
		a.Y.Min, a.Y.Max = 0, 100
		a.X.Label.Text = "all faults end at, in seconds of the trial's clock"
		a.Y.Label.Text = "violated, percent"
		a.X.Label.TextStyle = svg.TextStyle(svg.FontLabel, svg.Muted, draw.XCenter, draw.YBottom)
		a.Y.Label.TextStyle = a.X.Label.TextStyle
		a.X.Tick.Marker = plot.TickerFunc(secondTicks)
		a.X.Tick.Label = svg.TextStyle(svg.FontLabel, svg.Ink, draw.XCenter, draw.YTop)
		a.Y.Tick.Label = svg.TextStyle(svg.FontLabel, svg.Ink, draw.XRight, draw.YCenter)
		a.X.LineStyle, a.X.Tick.LineStyle = svg.Line(svg.Muted, 0.6), svg.Line(svg.Muted, 0.6)
		a.Y.LineStyle, a.Y.Tick.LineStyle = svg.Line(svg.Muted, 0.6), svg.Line(svg.Muted, 0.6)
		a.Y.Tick.Marker = plot.ConstantTicks([]plot.Tick{{Value: 0, Label: "0"}, {Value: 50, Label: "50"}, {Value: 100, Label: "100"}})
		a.Add(painting(func(c draw.Canvas, a *plot.Plot) {
			x, y := a.Transforms(&c)
			paintDecision(svg.Canvas{Canvas: c}, d, e, color, func(t time.Duration) vg.Length { return x(t.Seconds()) }, y)
		}))
		a.Draw(draw.Crop(c, 8, -14, 4, -titleHeight-14))
	}}
}

// secondTicks labels round numbers of seconds from 0 to the end of the axis.
func secondTicks(from, to float64) (ticks []plot.Tick) {
	step := svg.RoundStep((to - from) / 8)
	for k := 0; float64(k)*step <= to; k++ {
		ticks = append(ticks, plot.Tick{Value: float64(k) * step, Label: strconv.FormatFloat(float64(k)*step, 'g', 4, 64)})
	}
	return ticks
}

// namesApart is the number of heights that the names of faults use in turn, so that neighbours do
// not overlap.
const namesApart = 6

// paintDecision paints faults as bands, the share as steps, and marks the instants of the decision
// and the violation.
func paintDecision(n svg.Canvas, d decision.Decision, e history.Evidence, color func(fault string) string, x func(time.Duration) vg.Length, y func(float64) vg.Length) {
	end := d.Shown * 102 / 100
	small := svg.TextStyle(svg.FontSmall, svg.Ink, draw.XLeft, draw.YBottom)
	begun := map[int]time.Duration{}
	type name struct {
		at   time.Duration
		text string
	}
	var names []name
	for _, op := range e.Ops {
		switch {
		case op.Window == nil:
		case op.Type == history.Invoke:
			begun[op.Window.ID] = op.Time
		case op.Window.Impact != nil && begun[op.Window.ID] < end:
			from := begun[op.Window.ID]
			n.Box(svg.Alpha(svg.Color(color(op.Window.Fault)), 0.22), x(from), y(0), max(x(min(op.Time, end)), x(from)+1), y(100))
			names = append(names, name{from, op.Window.Fault})
		}
	}
	slices.SortStableFunc(names, func(a, b name) int { return cmp.Compare(a.at, b.at) })
	for i, f := range names {
		n.Text(small, x(f.at)+2, y(88)-vg.Length(11*(i%namesApart)), f.text)
	}
	line := []vg.Point{{X: x(0), Y: y(100 * d.Points[0].Share())}}
	for i, p := range d.Points {
		if i > 0 {
			line = append(line, vg.Point{X: x(p.At), Y: line[len(line)-1].Y})
		}
		line = append(line, vg.Point{X: x(p.At), Y: y(100 * p.Share())})
	}
	line = append(line, vg.Point{X: x(d.Shown), Y: line[len(line)-1].Y})
	n.Lines(svg.Line(svg.Alarm, 1.4), line...)
	for _, p := range d.Points {
		n.Disc(svg.Alarm, x(p.At), y(100*p.Share()), 1.8)
	}
	certain := d.Points[d.Certain].At
	label := svg.TextStyle(svg.FontLabel, svg.Ink, draw.XRight, draw.YBottom)
	n.Lines(svg.Line(svg.Ink, 0.8, 3, 2), vg.Point{X: x(certain), Y: y(0)}, vg.Point{X: x(certain), Y: y(100)})
	n.Lines(svg.Line(svg.Ink, 0.8), vg.Point{X: x(d.Shown), Y: y(0)}, vg.Point{X: x(d.Shown), Y: y(100)})
	n.Text(label, x(d.Shown), y(100)+3, fmt.Sprintf("certain from %s (dashed), shown at %s", prose.Instant(certain), prose.Instant(d.Shown)))
}
