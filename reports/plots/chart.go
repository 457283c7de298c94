package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

const (
	plotWidth = 560
	plotRow   = 15
)

// panel is one pair of axes with one row for each name, from top to bottom.
type panel struct {
	axis  string // title of the X axis, with its unit
	names []string
	// bottom is the space below the texts of the axis; height is the height of the whole panel.
	bottom, height vg.Length
	x              func(*plot.Plot) // sets up the X axis
	paint          func(n svg.Canvas, x, y func(float64) vg.Length)
}

// titleHeight is the space for a title above the first panel.
const titleHeight = 30

// chart returns a picture with a title and, below it, the panels from top to bottom.
func chart(title string, panels ...panel) *svg.Picture {
	height := vg.Length(titleHeight)
	for _, p := range panels {
		height += p.height
	}
	return &svg.Picture{Width: plotWidth, Height: height, What: title, Paint: func(c draw.Canvas) {
		c.SetColor(svg.Paper)
		c.Fill(c.Rectangle.Path())
		n := svg.Canvas{Canvas: c}
		n.Text(titleStyle, c.Min.X+10, c.Max.Y-8, title)
		top := c.Max.Y - titleHeight
		for _, p := range panels {
			part := c
			part.Max.Y, part.Min.Y = top, top-p.height
			p.draw(part)
			top -= p.height
		}
	}}
}

var titleStyle = svg.Bold(svg.TextStyle(12, svg.Ink, draw.XLeft, draw.YTop))

func (p panel) draw(c draw.Canvas) {
	g := plot.New()
	g.BackgroundColor = nil
	g.Y.Min, g.Y.Max = -float64(len(p.names))+0.5, 0.5
	g.Y.LineStyle.Width, g.Y.Tick.Length = 0, 0
	g.X.Padding, g.Y.Padding = 2, 4
	g.X.Label.Text = p.axis
	g.X.Label.Padding = 2
	g.X.Label.TextStyle = svg.TextStyle(svg.FontLabel, svg.Muted, draw.XCenter, draw.YBottom)
	g.X.Tick.Label = svg.TextStyle(svg.FontLabel, svg.Ink, draw.XCenter, draw.YTop)
	g.X.LineStyle, g.X.Tick.LineStyle = svg.Line(svg.Muted, 0.6), svg.Line(svg.Muted, 0.6)
	g.Y.Tick.Label = svg.TextStyle(svg.FontLabel, svg.Ink, draw.XRight, draw.YCenter)
	var ticks []plot.Tick
	for i, name := range p.names {
		ticks = append(ticks, plot.Tick{Value: -float64(i), Label: name})
	}
	g.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.x(g)
	g.Add(painting(func(c draw.Canvas, g *plot.Plot) {
		tx, ty := g.Transforms(&c)
		p.paint(svg.Canvas{Canvas: c}, tx, ty)
	}))
	g.Draw(draw.Crop(c, 8, -14, p.bottom, 0))
}

// painting adapts a function to plot.Plotter.
type painting func(draw.Canvas, *plot.Plot)

// Plot implements plot.Plotter.
func (p painting) Plot(c draw.Canvas, g *plot.Plot) { p(c, g) }

// heatMap returns a picture with a row for each recipe and a column for each fault. paint draws
// one cell.
func heatMap(m campaign.Matrix, title, axis string, paint func(n svg.Canvas, c campaign.Cell, x0, y0, x1, y1 vg.Length)) *svg.Picture {
	recipes, faults := CellAxes(m)
	height := vg.Length(len(recipes)*plotRow + 112)
	return chart(title, panel{axis, recipes, 4, height, func(g *plot.Plot) {
		g.X.Min, g.X.Max = -0.5, float64(len(faults))-0.5
		var ticks []plot.Tick
		for i, f := range faults {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: f})
		}
		g.X.Tick.Marker = plot.ConstantTicks(ticks)
		g.X.Tick.Length, g.X.LineStyle.Width = 0, 0
		g.X.Tick.Label.Rotation = math.Pi / 3
		g.X.Tick.Label.XAlign, g.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}, func(n svg.Canvas, x, y func(float64) vg.Length) {
		for _, c := range m.Cells {
			i, j := float64(slices.Index(recipes, c.Lock)), float64(slices.Index(faults, c.Fault))
			paint(n, c, x(j-0.5)+0.7, y(-i-0.5)+0.7, x(j+0.5)-0.7, y(-i+0.5)-0.7)
		}
	}})
}

// shade describes a cell of a figureMap: its ink, or the zero value for none, and the figure on
// the ink. dark: the ink needs light text.
type shade struct {
	ink  color.NRGBA
	dark bool
	text string
}

// figureMap is a heat map of figures. Cells without a figure are hatched; unsupported cells are
// blank.
func figureMap(m campaign.Matrix, title, axis string, figure func(at CellKey) (s shade, ok bool)) *svg.Picture {
	return heatMap(m, title, axis, func(n svg.Canvas, c campaign.Cell, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Wash, x0, y0, x1, y1)
		if c.Verdict == trial.NotSupported {
			return
		}
		s, ok := figure(CellKey{Lock: c.Lock, Fault: c.Fault})
		if !ok {
			n.Hatch(svg.Line(svg.Rule, 0.7), 4, x0, y0, x1, y1)
			return
		}
		if s.ink != (color.NRGBA{}) {
			n.Box(s.ink, x0, y0, x1, y1)
		}
		sty := svg.TextStyle(svg.FontSmall, svg.Ink, draw.XCenter, draw.YCenter)
		if s.dark {
			sty.Color = svg.OnInk
		}
		n.Text(sty, (x0+x1)/2, (y0+y1)/2+1, s.text)
	})
}
