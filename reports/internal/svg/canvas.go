package svg

import (
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Canvas is a gonum canvas with the shapes that pictures need. Lengths are in points.
type Canvas struct{ draw.Canvas }

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// TextStyle returns the style of plain text with alignments x and y.
func TextStyle(size vg.Length, c color.Color, x draw.XAlignment, y draw.YAlignment) text.Style {
	return text.Style{Color: c, Font: sans(size), XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}

// Bold returns the style in bold.
func Bold(s text.Style) text.Style {
	s.Font.Weight = xfont.WeightBold
	return s
}

// Box paints the rectangle between two corners.
func (p *Canvas) Box(c color.Color, x0, y0, x1, y1 vg.Length) {
	if x1 <= x0 || y1 <= y0 {
		return
	}
	p.SetColor(c)
	p.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

// Hatch fills the rectangle with slanted lines. step is the distance between lines, in points.
func (p *Canvas) Hatch(s draw.LineStyle, step, x0, y0, x1, y1 vg.Length) {
	if x1 <= x0 || y1 <= y0 {
		return
	}
	p.SetLineStyle(s)
	var path vg.Path
	h := y1 - y0
	for x := x0 - h + step/2; x < x1; x += step {
		from, to := vg.Point{X: x, Y: y0}, vg.Point{X: x + h, Y: y1}
		if from.X < x0 {
			from = vg.Point{X: x0, Y: y0 + (x0 - x)}
		}
		if to.X > x1 {
			to = vg.Point{X: x1, Y: y0 + (x1 - x)}
		}
		path.Move(from)
		path.Line(to)
	}
	p.Stroke(path)
}

// Lines draws a line through all points.
func (p *Canvas) Lines(s draw.LineStyle, points ...vg.Point) {
	p.SetLineStyle(s)
	p.Stroke(pathOf(points, false))
}

func pathOf(points []vg.Point, closed bool) vg.Path {
	var path vg.Path
	for i, pt := range points {
		if i == 0 {
			path.Move(pt)
		} else {
			path.Line(pt)
		}
	}
	if closed {
		path.Close()
	}
	return path
}

// Text writes a text at a point.
func (p *Canvas) Text(s text.Style, x, y vg.Length, txt string) {
	p.FillText(s, vg.Point{X: x, Y: y}, txt)
}

// Line returns the style of a line; dashes alternates the lengths of dashes and gaps.
func Line(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// Font sizes, in points.
const (
	FontSmall = 7.5
	FontLabel = 8.5
)

// RoundStep returns the smallest number of at least x that is 1, 2 or 5 times a power of
// ten.
func RoundStep(x float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= x {
			return m * base
		}
	}
	return 10 * base
}

// TextWidth returns the width of a plain text of the size.
func TextWidth(size vg.Length, text string) float64 {
	return float64(TextStyle(size, Ink, draw.XLeft, draw.YTop).Width(text))
}
