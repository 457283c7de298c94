package reports

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The inks of every picture. Clients' colours are Okabe and Ito's, which people
// with any kind of colour vision can tell apart.
var (
	paper = rgb(0xFFFFFF)
	ink   = rgb(0x1F2328)
	muted = rgb(0x656D76)
	rule  = rgb(0xD0D7DE)
	wash  = rgb(0xF3F5F7)
	alarm = rgb(0xC8102E)
	doubt = rgb(0x9A6700)
	// onInk is for text on colours that do not follow light and dark.
	onInk = rgb(0xFAFAFA)

	clientInks = []color.NRGBA{
		rgb(0x0072B2), rgb(0xE69F00), rgb(0x009E73), rgb(0xB05C94),
		rgb(0x56B4E9), rgb(0x8C6D31), rgb(0x3D8F8F), rgb(0x7A68C9),
	}
)

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xFF}
}

// parseColor reads "#rrggbb"; anything else is grey.
func parseColor(s string) color.NRGBA {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32)
	if err != nil || len(s) != 7 {
		return rgb(0x8C959F)
	}
	return rgb(uint32(n))
}

func hexColor(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

func clientInk(client int) color.NRGBA {
	if client < 0 {
		return muted
	}
	return clientInks[client%len(clientInks)]
}

// alpha returns the colour at an opacity between 0 and 1.
func alpha(c color.NRGBA, a float64) color.NRGBA {
	c.A = uint8(math.Round(a * 255))
	return c
}

// pen draws on a canvas in points.
type pen struct{ draw.Canvas }

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func textStyle(size vg.Length, c color.Color, x draw.XAlignment, y draw.YAlignment) text.Style {
	return text.Style{Color: c, Font: sans(size), XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler}
}

func bold(s text.Style) text.Style {
	s.Font.Weight = xfont.WeightBold
	return s
}

// fill paints the rectangle between two corners.
func (p *pen) fill(c color.Color, x0, y0, x1, y1 vg.Length) {
	if x1 <= x0 || y1 <= y0 {
		return
	}
	p.SetColor(c)
	p.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

// frame outlines the rectangle between two corners.
func (p *pen) frame(s draw.LineStyle, x0, y0, x1, y1 vg.Length) {
	p.SetLineStyle(s)
	p.Stroke(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}

// hatch fills the rectangle with slanted lines, step points apart.
func (p *pen) hatch(s draw.LineStyle, step, x0, y0, x1, y1 vg.Length) {
	if x1 <= x0 || y1 <= y0 {
		return
	}
	p.SetLineStyle(s)
	var path vg.Path
	h := y1 - y0
	for x := x0 - h + step/2; x < x1; x += step {
		from, to := vg.Point{X: x, Y: y0}, vg.Point{X: x + h, Y: y1}
		if from.X < x0 {
			from = vg.Point{X: x0, Y: y0 + (x0 - x)}
		}
		if to.X > x1 {
			to = vg.Point{X: x1, Y: y0 + (x1 - x)}
		}
		path.Move(from)
		path.Line(to)
	}
	p.Stroke(path)
}

// polygon fills a shape.
func (p *pen) polygon(c color.Color, points ...vg.Point) {
	p.SetColor(c)
	p.Fill(pathOf(points, true))
}

// lines strokes a shape.
func (p *pen) lines(s draw.LineStyle, points ...vg.Point) {
	p.SetLineStyle(s)
	p.Stroke(pathOf(points, false))
}

func pathOf(points []vg.Point, closed bool) vg.Path {
	var path vg.Path
	for i, pt := range points {
		if i == 0 {
			path.Move(pt)
		} else {
			path.Line(pt)
		}
	}
	if closed {
		path.Close()
	}
	return path
}

// disc fills a circle.
func (p *pen) disc(c color.Color, x, y, r vg.Length) {
	p.SetColor(c)
	var path vg.Path
	path.Move(vg.Point{X: x + r, Y: y})
	path.Arc(vg.Point{X: x, Y: y}, r, 0, 2*math.Pi)
	path.Close()
	p.Fill(path)
}

func (p *pen) text(s text.Style, x, y vg.Length, txt string) {
	p.FillText(s, vg.Point{X: x, Y: y}, txt)
}

func line(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// svg draws on a canvas of that size and returns the file. what is its title
// for people who do not see it.
func svg(width, height vg.Length, what string, paint func(draw.Canvas)) ([]byte, error) {
	c := vgsvg.New(width, height)
	paint(draw.New(c))
	var out bytes.Buffer
	if _, err := c.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("write picture: %w", err)
	}
	return tidy(out.Bytes(), what)
}

var (
	svgColor = regexp.MustCompile(`#[0-9A-F]{6}`)
	svgOpen  = regexp.MustCompile(`(?s)<svg[^>]*>`)
)

// tidy makes gonum's SVG portable: colours exactly those that were asked for
// (gonum's own conversion truncates), fonts that every viewer has, a title, and
// fewer bytes.
func tidy(raw []byte, what string) ([]byte, error) {
	s := string(raw)
	s = svgColor.ReplaceAllStringFunc(s, snap)
	s = strings.ReplaceAll(s, "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal", "")
	s = strings.ReplaceAll(s, "font-family:Liberation Sans;font-variant:normal;font-weight:bold;font-style:normal", "font-weight:bold")
	s = strings.ReplaceAll(s, `style=";`, `style="`)
	s = strings.ReplaceAll(s, "\n\tstyle", " style")
	s = strings.ReplaceAll(s, "<!-- Generated by SVGo and Plotinum VG -->\n", "")
	open := svgOpen.FindString(s)
	if open == "" {
		return nil, fmt.Errorf("tidy picture: no svg element in %d bytes", len(raw))
	}
	tag := strings.NewReplacer("\n\txmlns:xlink=\"http://www.w3.org/1999/xlink\"", "", "\n\t", " ", ">", ` role="img" font-family="Liberation Sans,Helvetica,Arial,sans-serif">`).Replace(open)
	var title bytes.Buffer
	if err := xml.EscapeText(&title, []byte(what)); err != nil {
		return nil, fmt.Errorf("tidy picture: %w", err)
	}
	return []byte(strings.Replace(s, open, tag+"\n<title>"+title.String()+"</title>", 1)), nil
}

// snap returns the ink that is at most two steps per channel away.
func snap(s string) string {
	c := parseColor(s)
	inks := append([]color.NRGBA{paper, ink, muted, rule, wash, alarm, doubt}, clientInks...)
	for _, i := range inks {
		if near(c.R, i.R) && near(c.G, i.G) && near(c.B, i.B) {
			return hexColor(i)
		}
	}
	return s
}

func near(a, b uint8) bool { return max(a, b)-min(a, b) <= 2 }

// inline prepares a picture for a page of HTML: without prologue, as wide as
// its place, and in the page's own inks, so that it follows light and dark.
func inline(picture []byte) string {
	s := string(picture)
	if i := strings.Index(s, "<svg"); i >= 0 {
		s = s[i:]
	}
	open := svgOpen.FindString(s)
	tag := svgSize.ReplaceAllString(open, "")
	s = strings.Replace(s, open, tag, 1)
	for _, v := range pageInks {
		s = strings.ReplaceAll(s, ":"+hexColor(v.ink), ":var(--"+v.name+","+hexColor(v.ink)+")")
	}
	return s
}

var svgSize = regexp.MustCompile(` (width|height)="[^"]*"`)

// pageInks are the inks that a page redefines for dark screens.
var pageInks = []struct {
	name string
	ink  color.NRGBA
}{{"paper", paper}, {"ink", ink}, {"muted", muted}, {"rule", rule}, {"wash", wash}, {"alarm", alarm}, {"doubt", doubt}}
