package svg

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	pixels "image/draw"
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
	opaque := image.NewRGBA(img.Bounds())
	pixels.Draw(opaque, opaque.Rect, img, opaque.Rect.Min, pixels.Src)
	// Most pixels have the colour of their neighbour, so that few look anything up.
	count, last, same := map[uint32]int{}, uint32(0), 0
	eachPixel(opaque, func(_ int, c uint32) {
		if c != last && same > 0 {
			count[last] += same
			same = 0
		}
		last = c
		same++
	})
	count[last] += same
	all := slices.SortedFunc(maps.Keys(count), func(a, b uint32) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	var palette color.Palette
	for _, c := range all[:min(len(all), 256)] {
		palette = append(palette, rgba(c))
	}
	nearest := make(map[uint32]uint8, len(all))
	for _, c := range all {
		nearest[c] = uint8(palette.Index(rgba(c)))
	}
	few := image.NewPaletted(opaque.Rect, palette)
	index := nearest[last]
	eachPixel(opaque, func(i int, c uint32) {
		if c != last {
			last, index = c, nearest[c]
		}
		few.Pix[i] = index
	})
	return few
}

// eachPixel calls do for each pixel, row by row, with the pixel's number and its colour as 0xRRGGBBAA.
func eachPixel(img *image.RGBA, do func(i int, c uint32)) {
	for i := range len(img.Pix) / 4 {
		do(i, binary.BigEndian.Uint32(img.Pix[4*i:]))
	}
}

// rgba returns the colour 0xRRGGBBAA.
func rgba(c uint32) color.RGBA {
	return color.RGBA{uint8(c >> 24), uint8(c >> 16), uint8(c >> 8), uint8(c)}
}
