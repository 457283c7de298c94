package plots

import (
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
)

// spreads draws durations of each lock on a logarithmic scale: a line from the minimum to the 99th
// percentile, a bar from the median to the 90th percentile, and the median as text.
func spreads(title, axis string, rows []Latency) *svg.Picture {
	if len(rows) == 0 {
		return nil
	}
	var names []string
	lo, hi := math.Inf(1), 0.0
	for _, l := range rows {
		names = append(names, l.Lock)
		lo, hi = min(lo, log(l.Min)), max(hi, log(l.P99))
	}
	lo, hi = math.Floor(lo*4)/4, math.Ceil(hi*4)/4
	if hi <= lo {
		hi = lo + 1
	}
	height := vg.Length(len(names)*plotRow + 68)
	return chart(title, panel{axis, names, 4, height, func(g *plot.Plot) {
		g.X.Min, g.X.Max = lo, hi+(hi-lo)/8 // room for the text of the last median
		g.X.Tick.Marker = plot.TickerFunc(logTicks)
	}, func(n svg.Canvas, x, y func(float64) vg.Length) {
		for _, t := range logTicks(lo, hi) {
			n.Lines(svg.Line(svg.Rule, 0.4), vg.Point{X: x(t.Value), Y: y(0.5)}, vg.Point{X: x(t.Value), Y: y(-float64(len(names)) + 0.5)})
		}
		sty := svg.TextStyle(svg.FontSmall, svg.Ink, draw.XLeft, draw.YCenter)
		for i, l := range rows {
			mid := y(-float64(i))
			n.Lines(svg.Line(svg.Muted, 0.8), vg.Point{X: x(log(l.Min)), Y: mid}, vg.Point{X: x(log(l.P99)), Y: mid})
			n.Box(svg.Alpha(svg.ClientInks[0], 0.45), x(log(l.Median)), mid-4, max(x(log(l.P90)), x(log(l.Median))+1), mid+4)
			n.Box(svg.ClientInks[0], x(log(l.Median))-1, mid-5, x(log(l.Median))+1, mid+5)
			n.Text(sty, x(log(l.P99))+4, mid+1, wording.Length(rounded(l.Median)))
		}
	}})
}

// rounded rounds a duration to two significant digits.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return d.Round(unit)
}

// plotLatency draws the durations of acquires without a fault.
func plotLatency(c Campaign) *svg.Picture {
	return spreads("Acquire without faults, with the median", "one attempt, its own waiting included: least to 99th percentile · bar: median to 90th", c.Latency)
}

// log returns the decimal logarithm of a duration in microseconds.
func log(d time.Duration) float64 { return math.Log10(max(0.1, float64(d.Nanoseconds())/1000)) }

// logTicks labels 1, 2 and 5 times each power of ten of microseconds; only the powers, if there
// are many.
func logTicks(from, to float64) []plot.Tick {
	var ticks []plot.Tick
	for power := math.Floor(from); power <= to; power++ {
		for _, m := range []float64{1, 2, 5} {
			if v := power + math.Log10(m); v >= from && v <= to && (m == 1 || to-from < 2.5) {
				us := m * math.Pow(10, power)
				ticks = append(ticks, plot.Tick{Value: v, Label: strings.Replace(wording.Length(time.Duration(us*1000)), " ", "\u00a0", 1)})
			}
		}
	}
	return ticks
}
