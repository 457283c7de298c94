package svg

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"

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

// PNG returns the picture as a PNG file with at most 256 colours: a drawing has few, and only the blurred
// edges of its lines and letters have more.
func (p Picture) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(p.Width, p.Height), vgimg.UseDPI(dpi))
	p.Paint(draw.New(c))
	var out bytes.Buffer
	if err := png.Encode(&out, fewColours(c.Image())); err != nil {
		return nil, fmt.Errorf("write picture: %w", err)
	}
	return out.Bytes(), nil
}

// fewColours returns the image with its 256 most frequent colours. Each other colour becomes the
// nearest of them. Images are opaque.
func fewColours(img image.Image) *image.Paletted {
	bounds, count := img.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B), cmp.Compare(a.A, b.A))
	})
	var palette color.Palette
	for _, c := range all[:min(len(all), 256)] {
		palette = append(palette, c)
	}
	nearest := make(map[color.RGBA]uint8, len(all))
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	few := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			few.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return few
}
