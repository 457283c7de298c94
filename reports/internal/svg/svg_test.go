package svg

import (
	"strings"
	"testing"
)

// A picture that is opened as a file needs a viewBox, so that it scales, and a fixed size. With a
// width in percent, the picture would always fill the window, and zooming would have no effect.
func TestAPictureByItselfCanBeZoomed(t *testing.T) {
	p := Picture{Title: "locks & keys", Width: 920, Height: 306}
	file := string(p.File())
	for _, want := range []string{`width="920pt" height="306pt" viewBox="0 0 920 306"`, "<title>locks &amp; keys</title>", `fill="#ffffff"`} {
		if !strings.Contains(file, want) {
			t.Errorf("the file lacks %s:\n%s", want, file)
		}
	}
}

// A page has other colours on a dark screen, so its pictures keep the names of inks; a file has the colours.
func TestInksAreNamesInAPageAndColoursInAFile(t *testing.T) {
	p := Picture{Width: 10, Height: 10}
	p.Box(Alarm, 0.5, 1, 2, 3, 4)
	p.Line(Rule, 0.4, 0, 0, 5, 5)
	p.Write(Words{Size: 8, Turn: -60, Anchor: "end", Bold: true}, 1, 1, "a < b")
	page, file := p.Inline(), string(p.File())
	for _, want := range []string{`<rect fill="var(--alarm)" fill-opacity="0.5" x="1" y="2" width="3" height="4"/>`, `d="M0,0L5,5"`, `rotate(-60)"`, "a &lt; b"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	if strings.Contains(file, "var(") || !strings.Contains(file, `<rect fill="#c8102e"`) {
		t.Errorf("the file has no colours of its own:\n%s", file)
	}
}

func TestWidthsAreThoseOfTheFont(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "il": 4.44, "W": 9.44, "10 ms": 27.23, "日": 5.56} {
		if got := TextWidth(10, text); got < want-0.01 || got > want+0.01 {
			t.Errorf("%q is %.2f wide, want %.2f", text, got, want)
		}
	}
}
