package svg

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Picture is a drawing that can be written in several formats. Width and Height are in points.
// What is the title, for people who cannot see the picture. Paint may be called several times and
// must draw the same each time.
type Picture struct {
	Width, Height vg.Length
	What          string
	Paint         func(draw.Canvas)
}

// dpi is the resolution of PNG files: enough to print a picture in a column's width.
const dpi = 192

// SVG returns the picture as an SVG file.
func (p Picture) SVG() ([]byte, error) { return Draw(p.Width, p.Height, p.What, p.Paint) }

// PNG returns the picture as a PNG file.
func (p Picture) PNG() ([]byte, error) {
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(p.Width, p.Height), vgimg.UseDPI(dpi))}
	p.Paint(draw.New(c))
	var out bytes.Buffer
	if _, err := c.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("write picture: %w", err)
	}
	return out.Bytes(), nil
}
