package reports

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sample is one entry of a timeline's legend.
type sample struct {
	text string
	// shown says whether the scene has it.
	bar  func(bar) bool
	mark func(mark) bool
	draw func(n pen, x, y vg.Length) // around (x, y), 14 points wide
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

// samples explain what a timeline may show.
var samples = []sample{
	{text: "believes it holds", bar: isBar(barHold), draw: func(n pen, x, y vg.Length) { n.fill(clientInks[0], x-7, y-4, x+7, y+4) }},
	{text: "holds for reading", bar: isBar(barRead), draw: func(n pen, x, y vg.Length) {
		n.fill(alpha(clientInks[0], 0.35), x-7, y-4, x+7, y+4)
		n.frame(line(clientInks[0], 1), x-7, y-4, x+7, y+4)
	}},
	{text: "operation", bar: isBar(barAttempt), draw: func(n pen, x, y vg.Length) { n.fill(alpha(clientInks[0], 0.55), x-7, y-1.5, x+7, y+1.5) }},
	{text: "refused", bar: isBar(barBusy), draw: func(n pen, x, y vg.Length) { n.fill(alpha(muted, 0.75), x-7, y-1.5, x+7, y+1.5) }},
	{text: "outcome unknown", bar: isBar(barUnknown), draw: func(n pen, x, y vg.Length) {
		n.hatch(line(alpha(doubt, 0.7), 0.6), 4, x-7, y-4, x+7, y+4)
		n.frame(line(doubt, 0.9, 3, 2), x-7, y-4, x+7, y+4)
	}},
	{text: "read", mark: isMark(markRead), draw: func(n pen, x, y vg.Length) { n.disc(ink, x, y, 2.6); n.disc(paper, x, y, 1.5) }},
	{text: "write", mark: isMark(markWrite), draw: func(n pen, x, y vg.Length) { n.disc(ink, x, y, 2.6) }},
	{text: "crash, kill", mark: isMark(markCrash), draw: func(n pen, x, y vg.Length) { cross(n, x, y, 4, 2, alarm) }},
	{text: "key in Redis, in its owner's colour", bar: isBar(barKey, barKeyEver), draw: func(n pen, x, y vg.Length) { n.fill(alpha(clientInks[0], 0.42), x-7, y-4, x+7, y+4) }},
	{text: "without expiry", bar: isBar(barKeyEver), draw: func(n pen, x, y vg.Length) { n.frame(line(alarm, 1), x-7, y-4, x+7, y+4) }},
	{text: "set", mark: isMark(markSet), draw: func(n pen, x, y vg.Length) {
		n.polygon(ink, vg.Point{X: x - 3.5, Y: y + 3}, vg.Point{X: x + 3.5, Y: y + 3}, vg.Point{X: x, Y: y - 3})
	}},
	{text: "renewed", mark: isMark(markRenewed), draw: func(n pen, x, y vg.Length) {
		n.lines(line(ink, 1.2), vg.Point{X: x - 3, Y: y - 2}, vg.Point{X: x, Y: y + 2}, vg.Point{X: x + 3, Y: y - 2})
	}},
	{text: "deleted", mark: isMark(markDeleted), draw: func(n pen, x, y vg.Length) { cross(n, x, y, 3, 1.5, ink) }},
	{text: "red: done to another client's key", mark: func(m mark) bool { return m.Foreign }, draw: func(n pen, x, y vg.Length) { cross(n, x, y, 3, 1.5, alarm) }},
	{text: "expired", mark: isMark(markExpired), draw: func(n pen, x, y vg.Length) { n.disc(ink, x, y, 3.6); n.disc(paper, x, y, 2.4) }},
	{text: "lost by its node", mark: isMark(markGone), draw: func(n pen, x, y vg.Length) { cross(n, x, y, 4, 2, alarm) }},
}

func cross(n pen, x, y, r, width vg.Length, c color.Color) {
	n.lines(line(c, width), vg.Point{X: x - r, Y: y - r}, vg.Point{X: x + r, Y: y + r})
	n.lines(line(c, width), vg.Point{X: x - r, Y: y + r}, vg.Point{X: x + r, Y: y - r})
}

// has says whether the scene shows what the sample explains.
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
	x := vg.Length(timelineWidth)
	for _, s := range samples {
		if !p.has(s) {
			continue
		}
		w := sampleWidth(s)
		if x+w > timelineWidth-24 {
			rows, x = append(rows, nil), 8
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
		x += w
	}
	return rows
}

func sampleWidth(s sample) vg.Length {
	return textStyle(fontSmall, muted, draw.XLeft, draw.YCenter).Width(s.text) + 28
}

// legend explains what the scene shows.
func (p *painter) legend(c draw.Canvas) {
	n := pen{Canvas: c}
	sty := textStyle(fontSmall, muted, draw.XLeft, draw.YCenter)
	y := c.Max.Y - 8
	for _, row := range p.legendRows() {
		x := c.Min.X + 8
		for _, s := range row {
			s.draw(n, x, y)
			n.text(sty, x+11, y+1, s.text)
			x += sampleWidth(s)
		}
		y -= legendRow
	}
}
