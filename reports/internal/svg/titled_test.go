package svg

import (
	"image/color"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"
)

func TestTitledGivesEachGroupItsTitle(t *testing.T) {
	picture, err := Draw(20, 10, "what", func(c draw.Canvas) {
		p := Canvas{Canvas: c}
		p.Group(1, func() { p.Box(Ink, 1, 1, 2, 2) })
		p.Group(0, func() { p.Box(Alarm, 3, 3, 4, 4) })
		p.Text(TextStyle(5, Ink, draw.XLeft, draw.YTop), 1, 9, "one")
		p.Text(TextStyle(5, Ink, draw.XLeft, draw.YTop), 5, 9, "two")
	})
	if err != nil {
		t.Fatal(err)
	}
	got := string(CompactFile(Titled(picture, []string{"<first>", "second\nline"})))
	for _, want := range []string{
		"<title>what</title>\n<style>\n.i0{fill:#1F2328}\n",
		"<g><title>second\nline</title>\n<path d=\"m1,1h1v1h-1z\" class=\"i0\" />\n</g>\n<g><title>&lt;first&gt;</title>\n",
		"</g>\n<g transform=\"scale(1, -1)\">\n<text x=\"1\"", // one transform flips both texts
		"\">two</text>\n</g>\n</g>\n</svg>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

func TestTextIsReadableOnEveryInk(t *testing.T) {
	for _, ink := range slices.Concat(ClientInks, []color.NRGBA{Alarm, Doubt, Muted}) {
		if got := Contrast(On(ink), ink); got < 4.5 {
			t.Errorf("text on %s has a contrast of %.2f, want 4.5", Hex(ink), got)
		}
		for _, a := range []float64{0.12, 0.35, 0.42} {
			if got := Contrast(Ink, Mix(ink, Wash, a)); got < 4.5 {
				t.Errorf("ink on %s at %g has a contrast of %.2f, want 4.5", Hex(ink), a, got)
			}
		}
	}
	if got := Contrast(RGB(0xFFFFFF), RGB(0xE69F00)); got > 2.3 || got < 2.2 {
		t.Errorf("white on orange has a contrast of %.2f, want about 2.25", got)
	}
}
