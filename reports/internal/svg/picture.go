package svg

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Ink is a colour, "#rrggbb" or one of these names. A page gives the names other colours on a dark screen.
type Ink string

const (
	Paper Ink = "var(--paper)"
	Text  Ink = "var(--ink)"
	Muted Ink = "var(--muted)"
	Rule  Ink = "var(--rule)"
	Wash  Ink = "var(--wash)"
	Alarm Ink = "var(--alarm)"
	Doubt Ink = "var(--doubt)"
	// Light is for text on inks that are the same on light and dark screens.
	Light Ink = "#fafafa"
	// Hatching leaves what is below it visible.
	Hatching Ink = "url(#hatching)"
)

// Defs is what the pictures of a page share: it stands in the page once.
const Defs = `<defs><pattern id="hatching" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path stroke="var(--rule)" d="M2,0v4"/></pattern></defs>`

// onLight has the colours of the named inks on a light screen.
var onLight = strings.NewReplacer(string(Paper), "#ffffff", string(Text), "#1f2328", string(Muted), "#656d76",
	string(Rule), "#d0d7de", string(Wash), "#f3f5f7", string(Alarm), "#c8102e", string(Doubt), "#9a6700")

// Picture collects the shapes of an SVG. Lengths are in pixels, from the upper left corner. Title is for people
// who cannot see the picture.
type Picture struct {
	Title         string
	Width, Height float64
	shapes        strings.Builder
}

// File returns the picture as a file of its own, in the colours of a light screen.
func (p *Picture) File() []byte {
	size := fmt.Sprintf(` width="%spt" height="%spt"`, px(p.Width), px(p.Height))
	ground := fmt.Sprintf("%s\n<rect fill=\"%s\" width=\"100%%\" height=\"100%%\"/>\n", Defs, Paper)
	return []byte("<?xml version=\"1.0\"?>\n" + onLight.Replace(p.svg(` xmlns="http://www.w3.org/2000/svg"`+size, ground)))
}

// Inline returns the picture for a page that defines the named inks and has Defs.
func (p *Picture) Inline() string { return p.svg("", "") }

func (p *Picture) svg(attributes, ground string) string {
	return fmt.Sprintf("<svg%s viewBox=\"0 0 %s %s\" role=\"img\" font-family=\"Liberation Sans,Helvetica,Arial,sans-serif\">\n<title>%s</title>\n%s%s</svg>\n",
		attributes, px(p.Width), px(p.Height), html.EscapeString(p.Title), ground, p.shapes.String())
}

// Box fills a rectangle; opacity is from 0 to 1.
func (p *Picture) Box(ink Ink, opacity, x, y, width, height float64) {
	if width > 0 && height > 0 && opacity > 0 {
		fade := ""
		if opacity < 1 {
			fade = fmt.Sprintf(` fill-opacity="%s"`, strconv.FormatFloat(math.Round(opacity*100)/100, 'f', -1, 64))
		}
		fmt.Fprintf(&p.shapes, "<rect fill=\"%s\"%s x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", ink, fade, px(x), px(y), px(width), px(height))
	}
}

// Line draws a line through points, which alternate x and y.
func (p *Picture) Line(ink Ink, thick float64, points ...float64) {
	var d strings.Builder
	for i := 0; i+1 < len(points); i += 2 {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + px(points[i]) + "," + px(points[i+1]))
	}
	fmt.Fprintf(&p.shapes, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" d=\"%s\"/>\n", ink, px(thick), d.String())
}

// Words is how a text is written.
type Words struct {
	Size   float64
	Ink    Ink    // "" = Text
	Anchor string // where the text has its place: "start", "middle" or "end"; "" = start
	Bold   bool
	Turn   float64 // in degrees, clockwise
}

// Write writes a text at a place: x is the text's anchor, y the middle of its line.
func (p *Picture) Write(w Words, x, y float64, text string) {
	attributes := fmt.Sprintf(` font-size="%s" dy=".35em"`, px(w.Size))
	if w.Anchor != "" {
		attributes += ` text-anchor="` + w.Anchor + `"`
	}
	if w.Bold {
		attributes += ` font-weight="bold"`
	}
	ink := w.Ink
	if ink == "" {
		ink = Text
	}
	place := fmt.Sprintf(`x="%s" y="%s"`, px(x), px(y))
	if w.Turn != 0 {
		place = fmt.Sprintf(`transform="translate(%s,%s) rotate(%s)"`, px(x), px(y), px(w.Turn))
	}
	fmt.Fprintf(&p.shapes, "<text fill=\"%s\"%s %s>%s</text>\n", ink, attributes, place, html.EscapeString(text))
}

// px writes a length in tenths of a pixel.
func px(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10+0, 'f', -1, 64) }
