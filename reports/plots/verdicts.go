package plots

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// plotViolations draws a heat map. A cell's figure is the share of trials that show the cell's
// verdict, as the matrix counts them.
func plotViolations(c Campaign) *svg.Picture {
	if len(c.Matrix.Cells) == 0 {
		return nil
	}
	return heatMap(c.Matrix, "Trials that show the cell's verdict, in percent", "red: a bug · amber: a limit, which no lease can promise by itself · purple: blocked · hatched: not judged", heat)
}

// heat paints one cell of the heat map. A cell that was not judged is hatched; an unsupported cell
// is blank.
func heat(n svg.Canvas, c campaign.Cell, x0, y0, x1, y1 vg.Length) {
	n.Box(svg.Wash, x0, y0, x1, y1)
	switch {
	case c.Verdict == trial.NotSupported:
		return
	case c.Verdict == trial.NotExercised || c.Verdict == trial.Unknown || c.Exercised == 0:
		n.Hatch(svg.Line(svg.Rule, 0.7), 4, x0, y0, x1, y1)
		return
	}
	share := 0.0
	if c.Violations > 0 {
		share = float64(c.Shown) / float64(c.Exercised)
	}
	col := svg.Alarm
	switch {
	case c.Verdict == trial.Blocked:
		col = svg.ClientInks[3]
	case c.Kind == locks.Limit:
		col = svg.Doubt
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

// verdictInk is the colour of a verdict in plots.
type verdictInk struct {
	class, label string
	ink          color.NRGBA
}

// text returns the colour of text on the ink: light on a dark ink, else the page's ink, whose halo keeps it
// legible.
func (v verdictInk) text() color.NRGBA {
	if (299*int(v.ink.R)+587*int(v.ink.G)+114*int(v.ink.B))/1000 < 128 {
		return svg.OnInk
	}
	return svg.Ink
}

// verdictInks are the colours of the verdicts in plots.
var verdictInks = []verdictInk{
	{"new", "undeclared", svg.RGB(0x6E0015)},
	{"bug", "bug", svg.Alarm},
	{"limit", "limit", svg.RGB(0xF2B53C)},
	{"blockbug", "blocked for ever: bug", svg.RGB(0x4A1259)},
	{"block", "blocked for ever", svg.RGB(0x7B2D8B)},
	{"ttlbug", "blocked up to TTL: bug", svg.RGB(0x2F7FA6)},
	{"ttl", "blocked up to TTL", svg.RGB(0x79BFDB)},
	{"unknown", "unknown", svg.RGB(0x9AA4AE)},
	{"holds", "no violation", svg.RGB(0x7CC49A)},
}

// plotVerdicts draws one bar for each recipe, divided by the verdicts of its cells.
func plotVerdicts(c Campaign) *svg.Picture {
	recipes, faults := CellAxes(c.Matrix)
	if len(c.Matrix.Cells) == 0 {
		return nil
	}
	height := vg.Length(len(recipes)*plotRow + 70)
	var used []string
	for _, c := range c.Matrix.Cells {
		used = append(used, CellClass(c))
	}
	return chart("Faults by verdict", panel{"faults", recipes, 22, height, func(g *plot.Plot) {
		g.X.Min, g.X.Max = 0, float64(len(faults))
		g.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	}, func(n svg.Canvas, x, y func(float64) vg.Length) {
		for i, recipe := range recipes {
			from := 0
			for _, v := range verdictInks {
				count := 0
				for _, c := range c.Matrix.Cells {
					if c.Lock == recipe && CellClass(c) == v.class {
						count++
					}
				}
				x0, x1, mid := x(float64(from)), x(float64(from+count))-0.6, y(-float64(i))
				n.Box(v.ink, x0, mid-4.5, x1, mid+4.5)
				if x1-x0 > 8 {
					n.Text(svg.TextStyle(svg.FontSmall, v.text(), draw.XCenter, draw.YCenter), (x0+x1)/2, mid+1, strconv.Itoa(count))
				}
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
	}})
}

func wholeTicks(from, to float64) []plot.Tick {
	step := max(1, svg.RoundStep((to-from)/10))
	var ticks []plot.Tick
	for v := 0.0; v <= to; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.Itoa(int(v))})
	}
	return ticks
}
