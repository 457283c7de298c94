package plots

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
)

const (
	waitRow   = 34           // height of a recipe's row
	waitWidth = waitBins + 4 // width of a column in tenths of a lease time, including the gap after it
	waitNamed = 3            // maximum number of omitted recipes that are named
	waitMost  = 3 * progress.WaitingTick
)

var (
	waitMedian = svg.ClientInks[0]
	waitSlow   = svg.Alarm
	waitNever  = svg.RGB(0x7B2D8B)
)

// waitingNeeds says what the campaign lacks if there is no plot of waiting.
var waitingNeeds = fmt.Sprintf("No recipe has %d trials in which clients waited around faults of one kind.", leastWaiting)

// plotWaiting draws how much longer clients waited for the lock, against the time since the fault
// struck. It has a row for each recipe and a column for each kind of fault.
func plotWaiting(c Campaign) *svg.Picture {
	all := waves(c)
	recipes, _ := CellAxes(c.Matrix)
	var kinds, few []string
	for _, k := range struckKinds {
		if slices.ContainsFunc(recipes, func(lock string) bool { return all[waveAt{lock, k.name}] != nil }) {
			kinds = append(kinds, k.name)
		}
	}
	names := []string{""} // for the columns' titles
	for _, lock := range recipes {
		if slices.ContainsFunc(kinds, func(kind string) bool { return all[waveAt{lock, kind}] != nil }) {
			names = append(names, lock)
		} else {
			few = append(few, lock)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	bottom := vg.Length(34)
	if len(few) > 0 {
		bottom = 46
	}
	axis := "seconds since the fault struck · height: seconds from then until the waiting client got the lock"
	p := panel{axis, names, bottom, vg.Length(len(names)*waitRow+34) + bottom, func(g *plot.Plot) {
		g.X.Min, g.X.Max = -progress.WaitingTick, float64(len(kinds)*waitWidth)-progress.WaitingTick
		g.X.LineStyle.Width = 0
		g.X.Tick.Marker = plot.ConstantTicks(waitTicks(c.ttl(), len(kinds)))
	}, func(n svg.Canvas, x, y func(float64) vg.Length) {
		waitKey(n, x(-progress.WaitingTick), x(float64(len(kinds)*waitWidth)-progress.WaitingTick), y(-float64(len(names))+0.5)-44, few)
		for i, kind := range kinds {
			at := func(tenth int) vg.Length { return x(float64(i*waitWidth + tenth)) }
			n.Text(svg.Bold(svg.TextStyle(svg.FontLabel, svg.Ink, draw.XLeft, draw.YCenter)), at(-progress.WaitingTick), y(0), kind+" faults")
			for j, lock := range names[1:] {
				foot := y(-float64(j) - 1.45)
				height := y(-float64(j)-0.6) - foot
				w := all[waveAt{lock, kind}]
				if w == nil {
					n.Hatch(svg.Line(svg.Rule, 0.7), 4, at(-progress.WaitingTick), foot, at(progress.WaitingSpan), foot+height)
					continue
				}
				w.draw(n, at, foot, height)
				if i == len(kinds)-1 {
					n.Text(svg.TextStyle(svg.FontSmall, svg.Muted, draw.XLeft, draw.YBottom), at(progress.WaitingSpan)+2, foot, "0")
					n.Text(svg.TextStyle(svg.FontSmall, svg.Muted, draw.XLeft, draw.YTop), at(progress.WaitingSpan)+2, foot+height, "≥ "+seconds(c.ttl(), waitMost))
				}
			}
		}
	}}
	return chart("How long clients waited for a lock while faults came and went", p)
}

// seconds converts tenths of a lease time to seconds, as text.
func seconds(ttl time.Duration, tenths int) string {
	return strconv.FormatFloat(ttl.Seconds()*float64(tenths)/progress.WaitingTick, 'g', 3, 64)
}

// waitTicks labels each lease time in each column.
func waitTicks(ttl time.Duration, columns int) (ticks []plot.Tick) {
	for i := range columns {
		for at := -progress.WaitingTick; at < progress.WaitingSpan; at += progress.WaitingTick {
			ticks = append(ticks, plot.Tick{Value: float64(i*waitWidth + at), Label: strings.Replace(seconds(ttl, at), "-", "−", 1)})
		}
	}
	return ticks
}

// waitKey explains the marks, and names the recipes that were left out.
func waitKey(n svg.Canvas, x, end, y vg.Length, few []string) {
	sty := svg.TextStyle(svg.FontLabel, svg.Ink, draw.XLeft, draw.YCenter)
	n.Box(svg.Alpha(svg.Muted, 0.35), x, y-3, x+14, y+5)
	text := "fault in force (darker: in more trials)"
	n.Text(sty, x+17, y+1, text)
	x += 17 + sty.Width(text) + 12
	for _, k := range []struct {
		ink  color.NRGBA
		text string
	}{{waitMedian, "median"}, {waitSlow, "99th percentile"}, {waitNever, "never (thick: the median)"}} {
		n.Box(k.ink, x, y, x+14, y+2)
		n.Text(sty, x+17, y+1, k.text)
		x += 17 + sty.Width(k.text) + 12
	}
	if len(few) > 0 {
		more := ""
		if len(few) > waitNamed {
			more, few = fmt.Sprintf(" and %d more", len(few)-waitNamed), few[:waitNamed]
		}
		sty.XAlign = draw.XRight
		n.Text(sty, end, y-13, fmt.Sprintf("no row: %s%s, below %d trials", strings.Join(few, ", "), more, leastWaiting))
	}
}

// draw draws the wave into a box whose first bin starts at x(-progress.WaitingTick).
func (w *wave) draw(n svg.Canvas, x func(tenth int) vg.Length, foot, height vg.Length) {
	left, right := x(-progress.WaitingTick), x(progress.WaitingSpan)
	n.Box(svg.Wash, left, foot, right, foot+height)
	for i := 0; i < len(w.bins); {
		end, inForce := i+1, w.bins[i].inForce
		for end < len(w.bins) && w.bins[end].inForce == inForce { // one box for equal bins makes the file smaller
			end++
		}
		if inForce > 0 {
			n.Box(svg.Alpha(svg.Muted, 0.1+0.4*float64(inForce)/float64(w.trials)), x(i-progress.WaitingTick), foot, x(end-progress.WaitingTick), foot+height)
		}
		i = end
	}
	n.Lines(svg.Line(svg.Muted, 0.8), vg.Point{X: x(0), Y: foot}, vg.Point{X: x(0), Y: foot + height})
	for _, q := range []struct {
		share float64
		ink   color.NRGBA
		thick vg.Length
	}{{0.99, waitSlow, 0.6}, {0.5, waitMedian, 3}} {
		w.line(n, x, func(tenths int) vg.Length { return foot + height*vg.Length(min(tenths, waitMost))/waitMost }, q.share, q.ink, q.thick)
	}
}

// line draws the course of a percentile. Where the percentile is "never", it draws a bar of height
// thick at the top.
func (w *wave) line(n svg.Canvas, x func(tenth int) vg.Length, y func(tenths int) vg.Length, share float64, ink color.NRGBA, thick vg.Length) {
	var points []vg.Point
	ends := func() {
		if len(points) > 1 {
			n.Lines(svg.Line(ink, 1.2), points...)
		}
		points = nil
	}
	for i := 0; i < len(w.bins); {
		v, ok := w.bins[i].of(share)
		from := x(i - progress.WaitingTick)
		for i++; i < len(w.bins); i++ { // equal bins are drawn as one
			if next, same := w.bins[i].of(share); next != v || same != ok {
				break
			}
		}
		end := x(i - progress.WaitingTick)
		switch {
		case !ok:
			ends()
		case v == never:
			ends()
			n.Box(waitNever, from, y(waitMost)-thick, end, y(waitMost)+0.6)
		default:
			points = append(points, vg.Point{X: from, Y: y(v)}, vg.Point{X: end, Y: y(v)})
		}
	}
	ends()
}
