package svg

import (
	"regexp"
	"testing"

	"gonum.org/v1/plot/vg/draw"
)

// A picture that is opened as a file needs a viewBox, so that it scales, and a fixed size. A width
// in percent would always be the window's, however far the browser zooms.
func TestAPictureByItselfCanBeZoomed(t *testing.T) {
	drawn, err := Draw(920, 306, "a picture", func(draw.Canvas) {})
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`<svg width="920pt" height="306pt" viewBox="0 0 920 306"`).Match(drawn) {
		t.Errorf("the picture has no size or no viewBox:\n%s", drawn)
	}
}
