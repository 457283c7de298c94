package svg

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func TestAPNGKeepsTheColoursOfADrawing(t *testing.T) {
	red := color.RGBA{200, 10, 10, 255}
	p := Picture{Width: vg.Inch, Height: vg.Inch, Paint: func(c draw.Canvas) {
		c.FillPolygon(red, []vg.Point{{X: 10, Y: 10}, {X: 60, Y: 12}, {X: 30, Y: 60}})
	}}
	data, err := p.PNG()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if _, few := img.(*image.Paletted); !few || img.Bounds().Dx() != dpi || img.Bounds().Dy() != dpi {
		t.Errorf("a %T of %v, want one with a palette, of %d × %d", img, img.Bounds(), dpi, dpi)
	}
	for at, want := range map[image.Point]color.RGBA{{dpi / 2, dpi / 2}: red, {2, 2}: {255, 255, 255, 255}} {
		if got := color.RGBAModel.Convert(img.At(at.X, at.Y)); got != want {
			t.Errorf("at %v the colour is %v, want %v", at, got, want)
		}
	}
}

// Each pixel of the image has a colour of its own, so the palette lacks most colours. Each pixel must get
// the nearest colour of the palette.
func TestRareColoursBecomeTheNearestFrequentOne(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for y := range 64 {
		for x := range 64 {
			img.SetRGBA(x, y, color.RGBA{uint8(4 * x), uint8(4 * y), 0, 255})
		}
	}
	few := fewColours(img)
	if len(few.Palette) != 256 {
		t.Errorf("%d colours, want 256", len(few.Palette))
	}
	for y := range 64 {
		for x := range 64 {
			got, exact := few.ColorIndexAt(x, y), few.Palette.Index(img.At(x, y))
			if int(got) != exact {
				t.Fatalf("at %d, %d colour %d stands for %v, but %d is nearer", x, y, got, img.At(x, y), exact)
			}
		}
	}
}
