package svg

import (
	"regexp"
	"testing"

	"gonum.org/v1/plot/vg/draw"
)

// A picture that is opened as a file needs a viewBox, so that it scales, and a fixed size. With a
// width in percent, the picture would always fill the window, and zooming would have no effect.
func TestAPictureByItselfCanBeZoomed(t *testing.T) {
	drawn, err := Draw(920, 306, "a picture", func(draw.Canvas) {})
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`<svg width="920pt" height="306pt" viewBox="0 0 920 306"`).Match(drawn) {
		t.Errorf("the picture has no size or no viewBox:\n%s", drawn)
	}
}
