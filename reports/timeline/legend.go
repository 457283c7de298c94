package timeline

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/reports/internal/svg"
)

// sample is one entry of a timeline's legend.
type sample struct {
	text string
	// bar and mark report whether the sample explains that bar or that mark.
	bar  func(bar) bool
	mark func(mark) bool
	draw func(n svg.Pen, x, y vg.Length) // draws the symbol around (x, y), 14 points wide
}

func isBar(styles ...barStyle) func(bar) bool {
	return func(b bar) bool {
		for _, s := range styles {
			if b.Style == s {
				return true
			}
		}
		return false
	}
}

func isMark(shape markShape) func(mark) bool {
	return func(m mark) bool { return m.Shape == shape }
}

// samples are all entries that a legend may have.
var samples = []sample{
	{text: "believes it holds", bar: isBar(barHold), draw: func(n svg.Pen, x, y vg.Length) { n.Box(svg.ClientInks[0], x-7, y-4, x+7, y+4) }},
	{text: "holds for reading", bar: isBar(barRead), draw: func(n svg.Pen, x, y vg.Length) {
		n.Box(svg.Alpha(svg.ClientInks[0], 0.35), x-7, y-4, x+7, y+4)
		n.Frame(svg.Line(svg.ClientInks[0], 1), x-7, y-4, x+7, y+4)
	}},
	{text: "operation", bar: isBar(barAttempt), draw: func(n svg.Pen, x, y vg.Length) { n.Box(svg.Alpha(svg.ClientInks[0], 0.55), x-7, y-1.5, x+7, y+1.5) }},
	{text: "refused", bar: isBar(barBusy), draw: func(n svg.Pen, x, y vg.Length) { n.Box(svg.Alpha(svg.Muted, 0.75), x-7, y-1.5, x+7, y+1.5) }},
	{text: "outcome unknown", bar: isBar(barUnknown), draw: func(n svg.Pen, x, y vg.Length) {
		n.Hatch(svg.Line(svg.Alpha(svg.Doubt, 0.7), 0.6), 4, x-7, y-4, x+7, y+4)
		n.Frame(svg.Line(svg.Doubt, 0.9, 3, 2), x-7, y-4, x+7, y+4)
	}},
	{text: "read", mark: isMark(markRead), draw: func(n svg.Pen, x, y vg.Length) { n.Disc(svg.Ink, x, y, 2.6); n.Disc(svg.Paper, x, y, 1.5) }},
	{text: "write", mark: isMark(markWrite), draw: func(n svg.Pen, x, y vg.Length) { n.Disc(svg.Ink, x, y, 2.6) }},
	{text: "crash, kill", mark: isMark(markCrash), draw: func(n svg.Pen, x, y vg.Length) { cross(n, x, y, 4, 2, svg.Alarm) }},
	{text: "key in Redis, in its owner's colour", bar: isBar(barKey, barKeyEver), draw: func(n svg.Pen, x, y vg.Length) { n.Box(svg.Alpha(svg.ClientInks[0], 0.42), x-7, y-4, x+7, y+4) }},
	{text: "without expiry", bar: isBar(barKeyEver), draw: func(n svg.Pen, x, y vg.Length) { n.Frame(svg.Line(svg.Alarm, 1), x-7, y-4, x+7, y+4) }},
	{text: "set", mark: isMark(markSet), draw: func(n svg.Pen, x, y vg.Length) {
		n.Polygon(svg.Ink, vg.Point{X: x - 3.5, Y: y + 3}, vg.Point{X: x + 3.5, Y: y + 3}, vg.Point{X: x, Y: y - 3})
	}},
	{text: "renewed", mark: isMark(markRenewed), draw: func(n svg.Pen, x, y vg.Length) {
		n.Lines(svg.Line(svg.Ink, 1.2), vg.Point{X: x - 3, Y: y - 2}, vg.Point{X: x, Y: y + 2}, vg.Point{X: x + 3, Y: y - 2})
	}},
	{text: "deleted", mark: isMark(markDeleted), draw: func(n svg.Pen, x, y vg.Length) { cross(n, x, y, 3, 1.5, svg.Ink) }},
	{text: "red: done to another client's key", mark: func(m mark) bool { return m.Foreign }, draw: func(n svg.Pen, x, y vg.Length) { cross(n, x, y, 3, 1.5, svg.Alarm) }},
	{text: "expired", mark: isMark(markExpired), draw: func(n svg.Pen, x, y vg.Length) { n.Disc(svg.Ink, x, y, 3.6); n.Disc(svg.Paper, x, y, 2.4) }},
	{text: "lost by its node", mark: isMark(markGone), draw: func(n svg.Pen, x, y vg.Length) { cross(n, x, y, 4, 2, svg.Alarm) }},
}

func cross(n svg.Pen, x, y, r, width vg.Length, c color.Color) {
	n.Lines(svg.Line(c, width), vg.Point{X: x - r, Y: y - r}, vg.Point{X: x + r, Y: y + r})
	n.Lines(svg.Line(c, width), vg.Point{X: x - r, Y: y + r}, vg.Point{X: x + r, Y: y - r})
}

// has reports whether the scene has a bar or a mark that the sample explains.
func (s scene) has(x sample) bool {
	for _, l := range s.Lanes {
		for _, b := range l.Bars {
			if x.bar != nil && x.bar(b) {
				return true
			}
		}
		for _, m := range l.Marks {
			if x.mark != nil && x.mark(m) {
				return true
			}
		}
	}
	return false
}

// legendRows arranges the samples that the scene needs.
func (p *painter) legendRows() [][]sample {
	var rows [][]sample
	x := vg.Length(fullWidth)
	for _, s := range samples {
		if !p.has(s) {
			continue
		}
		w := sampleWidth(s)
		if x+w > fullWidth-24 {
			rows, x = append(rows, nil), 8
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
		x += w
	}
	return rows
}

func sampleWidth(s sample) vg.Length {
	return svg.TextStyle(svg.FontSmall, svg.Muted, draw.XLeft, draw.YCenter).Width(s.text) + 28
}

func (p *painter) legend(c draw.Canvas) {
	n := svg.Pen{Canvas: c}
	sty := svg.TextStyle(svg.FontSmall, svg.Muted, draw.XLeft, draw.YCenter)
	y := c.Max.Y - 8
	for _, row := range p.legendRows() {
		x := c.Min.X + 8
		for _, s := range row {
			s.draw(n, x, y)
			n.Text(sty, x+11, y+1, s.text)
			x += sampleWidth(s)
		}
		y -= legendRow
	}
}
