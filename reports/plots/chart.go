package plots

import (
	"math"
	"slices"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// Sizes in pixels.
const (
	plotWidth  = 560
	plotMargin = 14
	plotRow    = 15
	smallFont  = 7.5
	labelFont  = 8.5
	titleFont  = 12
	leastRoom  = 1.05 // viewers without the font take another one, which may be wider
)

// chart is a picture that grows downwards by panels.
type chart struct{ svg.Picture }

func newChart(title string) *chart {
	c := &chart{svg.Picture{Title: title, Width: plotWidth, Height: 30}}
	c.Write(svg.Words{Size: titleFont, Bold: true}, 10, 15, title)
	return c
}

// panel is a part of a chart: rows with names, over an X axis from least to most.
type panel struct {
	*chart
	left, right, top, row, least, most float64
}

// panel begins a panel below what the chart has.
func (c *chart) panel(names []string, row, least, most float64) panel {
	p := panel{c, 0, plotWidth - plotMargin, c.Height, row, least, most}
	for _, name := range names {
		p.left = max(p.left, leastRoom*svg.TextWidth(labelFont, name)+plotMargin)
	}
	for i, name := range names {
		c.Write(svg.Words{Size: labelFont, Anchor: "end"}, p.left-4, p.y(i)+row/2, name)
	}
	c.Height += row * float64(len(names))
	return p
}

// x returns the place of a value, y the upper end of a row.
func (p panel) x(v float64) float64 {
	return p.left + (p.right-p.left)*(v-p.least)/(p.most-p.least)
}
func (p panel) y(row int) float64 { return p.top + p.row*float64(row) }

// tick is a value written at an axis.
type tick struct {
	at    float64
	label string
}

// axis ends a panel with its ticks, and says what they measure. turned: the labels are too long to stand side
// by side.
func (p panel) axis(measures string, turned bool, ticks []tick) {
	words, deep := svg.Words{Size: labelFont, Anchor: "middle"}, 16.0
	if turned {
		words.Anchor, words.Turn = "end", -60
	}
	for _, t := range ticks {
		p.Write(words, p.x(t.at), p.Height+8, t.label)
		if turned {
			deep = max(deep, leastRoom*svg.TextWidth(labelFont, t.label)*math.Sin(math.Pi/3)+14)
		}
	}
	p.Height += deep
	p.Write(svg.Words{Size: labelFont, Ink: svg.Muted, Anchor: "middle"}, (p.left+p.right)/2, p.Height+7, measures)
	p.Height += 18
}

// shade is a cell of a heat map: a text on an ink, whose strength is from 0, none, to 1. The zero value is blank.
type shade struct {
	ink      svg.Ink
	strength float64
	text     string
}

// noFigure is the shade of a cell that has no figure: it is hatched.
var noFigure = shade{ink: svg.Hatching}

// heat paints rows and columns of cells. The columns are at 0, 1, 2, … of the X axis.
func (p panel) heat(rows, columns int, cell func(row, column int) shade) {
	for i := range rows {
		for j := range columns {
			s := cell(i, j)
			x, y, width, height := p.x(float64(j)-0.5)+0.7, p.y(i)+0.7, p.x(float64(j)+0.5)-p.x(float64(j)-0.5)-1.4, p.row-1.4
			p.Box(svg.Wash, 1, x, y, width, height)
			words := svg.Words{Size: smallFont, Anchor: "middle"}
			switch {
			case s == noFigure:
				p.Box(svg.Hatching, 1, x, y, width, height)
			case s.strength > 0:
				p.Box(s.ink, 0.15+0.85*s.strength, x, y, width, height)
			}
			if s.strength > 0.55 {
				words.Ink = svg.Light
			}
			if s.text != "" {
				p.Write(words, x+width/2, y+height/2, s.text)
			}
		}
	}
}

// heatMap returns a picture with a row for each recipe and a column for each fault. An unsupported cell is blank.
func heatMap(m campaign.Matrix, title, axis string, cell func(c campaign.Cell) shade) *chart {
	recipes, faults := CellAxes(m)
	c := newChart(title)
	p := c.panel(recipes, plotRow, -0.5, float64(len(faults))-0.5)
	p.heat(len(recipes), len(faults), func(row, column int) shade {
		if c, ok := CellOf(m, recipes[row], faults[column]); ok && c.Verdict != trial.NotSupported {
			return cell(c)
		}
		return shade{}
	})
	var ticks []tick
	for i, f := range faults {
		ticks = append(ticks, tick{float64(i), f})
	}
	p.axis(axis, true, ticks)
	return c
}

// key explains boxes of inks in one line, from x on, and returns where the line ends.
func (c *chart) key(x, y float64, entries []shade) float64 {
	for _, e := range entries {
		c.Box(e.ink, e.strength, x, y-4, 9, 8)
		c.Write(svg.Words{Size: smallFont, Ink: svg.Muted}, x+12, y, e.text)
		x += leastRoom*svg.TextWidth(smallFont, e.text) + 24
	}
	return x
}

// roundStep returns the smallest number of at least x that is 1, 2 or 5 times a power of ten.
func roundStep(x float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(x)))
	steps := []float64{base, 2 * base, 5 * base, 10 * base}
	return steps[slices.IndexFunc(steps, func(s float64) bool { return s >= x })]
}
