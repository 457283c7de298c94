package svg

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Picture is a drawing. Width and Height are in points. What is the title, for people who cannot see
// the picture.
type Picture struct {
	Width, Height vg.Length
	What          string
	Paint         func(draw.Canvas)
}

// SVG returns the picture as an SVG file.
func (p Picture) SVG() ([]byte, error) { return Draw(p.Width, p.Height, p.What, p.Paint) }
