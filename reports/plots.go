package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image/color"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// campaignPlot is a picture of a whole campaign.
type campaignPlot struct {
	Name, Title string // Name is that of its files, without the extension
	// Draw returns nil if the campaign has nothing to show.
	Draw func(r result) *svg.Picture
	// Table returns the figures behind the picture, with a row of headings; nil = the page
	// has them.
	Table func(r result) [][]string
	// Needs says what the campaign lacks if nothing is drawn, in a whole sentence; "" = that
	// is clear without words.
	Needs string
}

// campaignPlots are all plots, in the report's order.
var campaignPlots = []campaignPlot{
	{Name: "violations", Title: "Share of violated trials", Draw: plotViolations},
	{Name: "verdicts", Title: "Verdicts of each recipe", Draw: plotVerdicts},
	{Name: "breaks", Title: "Where each recipe breaks", Draw: plotBreaks, Table: breaksTable, Needs: breaksNeed},
	{Name: "damage", Title: "What a broken lock costs", Draw: plotDamage, Table: damageTable, Needs: damageNeeds},
	{Name: "overlap", Title: "How long two clients held the lock at once", Draw: plotOverlaps, Table: overlapTable},
	{Name: "acquire", Title: "Time of an acquire, undisturbed", Draw: plotLatency, Needs: "No undisturbed trial in which somebody got the lock was run here."},
	{Name: "recovery", Title: "Longest time until somebody got in after a fault, in any workload", Draw: plotRecovery, Needs: "No client asked for a lock after a fault."},
}

// drawPlots draws every plot that has something to show.
func drawPlots(r result) ([]plotView, error) {
	var out []plotView
	for _, p := range campaignPlots {
		drawn := p.Draw(r)
		if drawn == nil {
			continue
		}
		v := plotView{Name: p.Name, File: p.Name + ".svg", Title: p.Title, drawn: *drawn}
		var err error
		if v.Picture, err = drawn.SVG(); err != nil {
			return nil, fmt.Errorf("plot %s: %w", p.Name, err)
		}
		if p.Table != nil {
			v.Data, v.table = p.Name+".csv", p.Table(r)
		}
		out = append(out, v)
	}
	return out, nil
}

// notDrawn returns the titles of the plots that are not among the drawn ones, each with what
// it needs.
func notDrawn(drawn []plotView) (missing []fact) {
	for _, p := range campaignPlots {
		if p.Needs != "" && !slices.ContainsFunc(drawn, func(v plotView) bool { return v.Name == p.Name }) {
			missing = append(missing, fact{p.Title, p.Needs})
		}
	}
	return missing
}

// plotView is a drawn plot.
type plotView struct {
	Name, File, Title string
	Data              string // name of the file with the figures; "" = none
	Picture           []byte // SVG
	drawn             svg.Picture
	table             [][]string
}

// save writes the plot's files into a directory: SVG, PNG and figures.
func (p plotView) save(dir string) error {
	png, err := p.drawn.PNG()
	if err != nil {
		return fmt.Errorf("plot %s: %w", p.Name, err)
	}
	files := map[string][]byte{p.File: p.Picture, p.Name + ".png": png}
	if p.Data != "" {
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		if err := w.WriteAll(p.table); err != nil {
			return fmt.Errorf("figures of plot %s: %w", p.Name, err)
		}
		files[p.Data] = text.Bytes()
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(filepath.Join(dir, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// plotViolations draws a heat map of the share of violated trials.
func plotViolations(r result) *svg.Picture {
	if len(r.Matrix.Cells) == 0 {
		return nil
	}
	return heatMap(r.Matrix, "Violated trials of each cell, in percent", "red: violated · purple: only blocked · hatched: not judged · blank: not supported", heat)
}

// heat paints one cell of the heat map; hatched if it was not judged.
func heat(n svg.Canvas, c campaign.Cell, x0, y0, x1, y1 vg.Length) {
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

// verdictInk is the colour of a verdict in plots.
type verdictInk struct {
	class, label string
	ink          color.NRGBA
}

// text returns the colour of text on the ink: light on dark inks, and dark on light ones.
func (v verdictInk) text() color.NRGBA {
	if (299*int(v.ink.R)+587*int(v.ink.G)+114*int(v.ink.B))/1000 < 128 {
		return svg.OnInk
	}
	return svg.RGB(0x1F2428) // not svg.Ink, which is light on dark pages
}

// verdictInks colour the verdicts in plots.
var verdictInks = []verdictInk{
	{"new", "undeclared", svg.RGB(0x6E0015)},
	{"bug", "bug", svg.Alarm},
	{"limit", "limit", svg.RGB(0xF2B53C)},
	{"block", "blocked for ever", svg.RGB(0x7B2D8B)},
	{"ttl", "blocked up to TTL", svg.RGB(0x79BFDB)},
	{"unknown", "unknown", svg.RGB(0x9AA4AE)},
	{"holds", "no violation", svg.RGB(0x7CC49A)},
}

// plotVerdicts draws a bar per recipe, divided by the verdicts of its cells.
func plotVerdicts(r result) *svg.Picture {
	recipes, faults := axes(r.Matrix)
	if len(r.Matrix.Cells) == 0 {
		return nil
	}
	height := vg.Length(len(recipes)*plotRow + 70)
	var used []string
	for _, c := range r.Matrix.Cells {
		used = append(used, classOf(c))
	}
	return chart("Faults by verdict", panel{"faults", recipes, 22, height, func(g *plot.Plot) {
		g.X.Min, g.X.Max = 0, float64(len(faults))
		g.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	}, func(n svg.Canvas, x, y func(float64) vg.Length) {
		for i, recipe := range recipes {
			from := 0
			for _, v := range verdictInks {
				count := 0
				for _, c := range r.Matrix.Cells {
					if c.Lock == recipe && classOf(c) == v.class {
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
