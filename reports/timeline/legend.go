package timeline

import (
	"image/color"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/reports/internal/svg"
)

// sample is one entry of a timeline's legend. It explains the bars or marks that look like it.
type sample struct {
	name   string // the name that the page's script uses
	text   string
	stroke *stroke // the look, if the sample explains a bar
	glyph  *glyph  // the look, if the sample explains a mark
	// bar, mark and lane report whether the sample also explains a bar, a mark, or the background
	// of a lane. The second argument of lane is the time at which the picture ends.
	bar  func(bar) bool
	mark func(mark) bool
	lane func(lane, time.Duration) bool
	// draw draws the sample's symbol around (x, y), at most 14 points wide. nil = stroke or glyph draws the
	// symbol.
	draw func(n svg.Canvas, x, y vg.Length)
}

// stroke describes how the bars of one style are drawn.
type stroke struct {
	style barStyle
	// half is half the bar's height. If half is 0, the bar fills its lane except for inset at both
	// edges. low is how far the bar's middle is below the lane's middle.
	half, inset, low vg.Length
	draw             func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length)
}

// glyph describes how the marks of one shape are drawn.
type glyph struct {
	shape markShape
	bold  bool // the mark's label is bold
	// down is the distance from the lane's top edge down to the mark. If down is 0, low is the
	// distance from the lane's middle down to the mark.
	down, low vg.Length
	// stem is how far above the mark the line to the lane's bars begins. It is negative if the line
	// begins below the mark; 0 = no line.
	stem vg.Length
	draw func(n svg.Canvas, s spot)
}

// spot is the place where a glyph is drawn, with the colours.
type spot struct {
	x, y       vg.Length
	ink, paper color.Color
	// lane is the lane's height; 0 in the legend, where glyphs are smaller.
	lane vg.Length
}

// size returns a glyph's size: the first argument in the legend, the second on a lane.
func (s spot) size(legend, lane vg.Length) vg.Length {
	if s.lane == 0 {
		return legend
	}
	return lane
}

// barSamples and markSamples are the samples by the style of bar or the shape of mark they
// explain.
var barSamples, markSamples = func() (map[barStyle]sample, map[markShape]sample) {
	bars, marks := map[barStyle]sample{}, map[markShape]sample{}
	for _, s := range samples {
		switch {
		case s.stroke != nil:
			bars[s.stroke.style] = s
		case s.glyph != nil:
			marks[s.glyph.shape] = s
		}
	}
	return bars, marks
}()

// samples are all entries that a legend may have.
var samples = []sample{
	{name: "wait", text: "waits for the lock", stroke: &stroke{style: barWait, half: 0.6, low: 2, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Alpha(ink, 0.8), x0, y0, x1, y1)
	}}},
	{name: "try", text: "operation", stroke: &stroke{style: barAttempt, half: 2.5, low: 2, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Alpha(ink, 0.55), x0, y0, x1, y1)
	}}},
	{name: "busy", text: "refused", stroke: &stroke{style: barBusy, half: 2.5, low: 2, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Alpha(svg.Muted, 0.75), x0, y0, x1, y1)
	}}},
	{name: "hold", text: "believes it holds", stroke: &stroke{style: barHold, inset: 6, low: 2, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) { n.Box(ink, x0, y0, x1, y1) }}},
	{name: "shared", text: "holds for reading", stroke: &stroke{style: barRead, inset: 6, low: 2, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Mix(ink, svg.Wash, 0.35), x0, y0, x1, y1)
		n.Frame(svg.Line(ink, 1), x0, y0, x1, y1)
	}}},
	{name: "gone", text: "believes it holds, but its key is gone", stroke: &stroke{style: barGone, inset: 6, low: 2, draw: stripedBox}},
	{name: "unknown", text: "outcome unknown", stroke: &stroke{style: barUnknown, inset: 6, low: 2, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Mix(svg.Doubt, svg.Wash, 0.12), x0, y0, x1, y1)
		n.Hatch(svg.Line(svg.Alpha(svg.Doubt, 0.7), 0.6), 4, x0, y0, x1, y1)
		n.Frame(svg.Line(svg.Doubt, 0.9, 3, 2), x0, y0, x1, y1)
	}}},
	{name: "read", text: "read", glyph: &glyph{shape: markRead, down: 6, draw: func(n svg.Canvas, s spot) {
		n.Disc(s.ink, s.x, s.y, 2.6)
		n.Disc(s.paper, s.x, s.y, 1.5)
	}}},
	{name: "write", text: "write", glyph: &glyph{shape: markWrite, down: 6, draw: func(n svg.Canvas, s spot) { n.Disc(s.ink, s.x, s.y, 2.6) }}},
	{name: "lost", text: "told that its lease ended", glyph: &glyph{shape: markLost, bold: true, down: 5.5, draw: func(n svg.Canvas, s spot) {
		n.Polygon(svg.Doubt, vg.Point{X: s.x - 4, Y: s.y + 3.5}, vg.Point{X: s.x + 4, Y: s.y + 3.5}, vg.Point{X: s.x, Y: s.y - 3.5})
	}}},
	{name: "event", text: "event", glyph: &glyph{shape: markEvent, draw: func(n svg.Canvas, s spot) {
		half := s.size(5, s.lane/2-2)
		n.Lines(svg.Line(svg.Ink, 1.2), vg.Point{X: s.x, Y: s.y - half}, vg.Point{X: s.x, Y: s.y + half})
	}}},
	{name: "crash", text: "crash, kill", glyph: &glyph{shape: markCrash, bold: true, low: 2, draw: func(n svg.Canvas, s spot) { cross(n, s.x, s.y, s.size(4, 5), 2, svg.Alarm) }}},
	{name: "dead", text: "stopped for ever", lane: func(l lane, to time.Duration) bool { return l.Dead > 0 && l.Dead <= to }, draw: func(n svg.Canvas, x, y vg.Length) {
		n.Box(svg.Alpha(svg.Muted, 0.18), x-7, y-5, x+7, y+5)
		n.Lines(svg.Line(svg.Muted, 0.8, 2, 3), vg.Point{X: x - 7, Y: y}, vg.Point{X: x + 7, Y: y})
	}},
	{name: "key", text: "key in Redis, in its owner's colour", bar: func(b bar) bool { return b.Style == barKeyEver }, stroke: &stroke{style: barKey, half: 5, low: 3, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Mix(ink, svg.Wash, 0.42), x0, y0, x1, y1)
	}}},
	{name: "ever", text: "without expiry", draw: func(n svg.Canvas, x, y vg.Length) { n.Frame(svg.Line(svg.Alarm, 1), x-7, y-4, x+7, y+4) }, stroke: &stroke{style: barKeyEver, half: 5, low: 3, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Mix(ink, svg.Wash, 0.42), x0, y0, x1, y1)
		n.Frame(svg.Line(svg.Alarm, 1), x0, y0, x1, y1)
	}}},
	{name: "set", text: "set", glyph: &glyph{shape: markSet, down: 6, stem: -3, draw: func(n svg.Canvas, s spot) {
		n.Polygon(s.ink, vg.Point{X: s.x - 3.5, Y: s.y + 3}, vg.Point{X: s.x + 3.5, Y: s.y + 3}, vg.Point{X: s.x, Y: s.y - 3})
	}}},
	{name: "renewed", text: "renewed", glyph: &glyph{shape: markRenewed, down: 6, stem: 2, draw: func(n svg.Canvas, s spot) {
		n.Lines(svg.Line(s.ink, 1.2), vg.Point{X: s.x - 3, Y: s.y - 2}, vg.Point{X: s.x, Y: s.y + 2}, vg.Point{X: s.x + 3, Y: s.y - 2})
	}}},
	{name: "deleted", text: "deleted", glyph: &glyph{shape: markDeleted, down: 6, stem: -3, draw: func(n svg.Canvas, s spot) { cross(n, s.x, s.y, 3, 1.5, s.ink) }}},
	{name: "foreign", text: "red: done to another client's key", mark: func(m mark) bool { return m.Foreign }, draw: func(n svg.Canvas, x, y vg.Length) { cross(n, x, y, 3, 1.5, svg.Alarm) }},
	{name: "expired", text: "expired", glyph: &glyph{shape: markExpired, low: 3, draw: func(n svg.Canvas, s spot) {
		n.Disc(svg.Ink, s.x, s.y, 3.6)
		n.Disc(svg.Paper, s.x, s.y, 2.4)
	}}},
	{name: "removed", text: "lost by its node", glyph: &glyph{shape: markGone, bold: true, low: 3, draw: func(n svg.Canvas, s spot) { cross(n, s.x, s.y, s.size(4, 4.5), 2, svg.Alarm) }}},
	{name: "fault", text: "fault in force, in its colour", stroke: &stroke{style: barFault, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Alpha(ink, 0.35), x0, y0, x1, y1)
		n.Box(ink, x0, y0, x0+1.5, y1)
	}}},
	{name: "shade", text: "aimed at this client or node", lane: func(l lane, _ time.Duration) bool { return len(l.Shades) > 0 }, draw: func(n svg.Canvas, x, y vg.Length) {
		n.Box(svg.Alpha(svg.Muted, 0.16), x-7, y-5, x+7, y+5)
		n.Hatch(svg.Line(svg.Alpha(svg.Muted, 0.6), 0.6), 6, x-7, y-5, x+7, y+5)
	}},
	{name: "found", text: "found: the violation told", stroke: &stroke{style: barFinding, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) { n.Box(svg.Alarm, x0, y0, x1, y1) }}},
	{name: "other", text: "found: other violations", stroke: &stroke{style: barOther, draw: func(n svg.Canvas, ink color.NRGBA, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Alpha(svg.Alarm, 0.22), x0, y0, x1, y1)
		n.Box(svg.Alarm, x0, y0, x0+1, y1)
	}}},
	{name: "harm", text: "from the moment of the violation to its end", bar: func(b bar) bool { return b.Style == barFinding }, draw: func(n svg.Canvas, x, y vg.Length) {
		n.Box(svg.Alpha(svg.Alarm, 0.13), x-7, y-5, x+7, y+5)
		n.Lines(svg.Line(svg.Alarm, 0.9, 4, 2), vg.Point{X: x - 7, Y: y - 5}, vg.Point{X: x - 7, Y: y + 5})
		n.Lines(svg.Line(svg.Alarm, 0.9, 4, 2), vg.Point{X: x + 7, Y: y - 5}, vg.Point{X: x + 7, Y: y + 5})
	}},
}

// stripedBox draws a believed hold whose key is gone: striped, with a red frame.
func stripedBox(n svg.Canvas, c color.NRGBA, x0, y0, x1, y1 vg.Length) {
	n.Box(svg.Mix(c, svg.Wash, 0.25), x0, y0, x1, y1)
	n.Lines(svg.Line(c, y1-y0, 2, 3), vg.Point{X: x0, Y: (y0 + y1) / 2}, vg.Point{X: x1, Y: (y0 + y1) / 2})
	n.Frame(svg.Line(svg.Alarm, 1), x0, y0, x1, y1)
}

func cross(n svg.Canvas, x, y, r, width vg.Length, c color.Color) {
	n.Lines(svg.Line(c, width), vg.Point{X: x - r, Y: y - r}, vg.Point{X: x + r, Y: y + r})
	n.Lines(svg.Line(c, width), vg.Point{X: x - r, Y: y + r}, vg.Point{X: x + r, Y: y - r})
}

// has reports whether the scene has a bar, a mark or a background that the sample explains.
func (s scene) has(x sample) bool {
	for _, l := range s.Lanes {
		if x.lane != nil && x.lane(l, s.To) {
			return true
		}
		for _, b := range l.Bars {
			if x.stroke != nil && x.stroke.style == b.Style || x.bar != nil && x.bar(b) {
				return true
			}
		}
		for _, m := range l.Marks {
			if x.glyph != nil && x.glyph.shape == m.Shape || x.mark != nil && x.mark(m) {
				return true
			}
		}
	}
	return false
}

// legendRows returns, row by row, the samples that the scene needs.
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

// symbol draws the sample's symbol around (x, y).
func (s sample) symbol(n svg.Canvas, x, y vg.Length) {
	switch {
	case s.draw != nil:
		s.draw(n, x, y)
	case s.glyph != nil:
		s.glyph.draw(n, spot{x: x, y: y, ink: svg.Ink, paper: svg.Paper})
	default:
		ink, half := svg.ClientInks[0], vg.Length(4)
		if s.stroke.style == barFault {
			ink = svg.Muted
		}
		if s.stroke.half > 0 {
			half = min(half, s.stroke.half)
		}
		s.stroke.draw(n, ink, x-7, y-half, x+7, y+half)
	}
}

func (p *painter) legend(c draw.Canvas) {
	n := svg.Canvas{Canvas: c}
	sty := svg.TextStyle(svg.FontSmall, svg.Muted, draw.XLeft, draw.YCenter)
	y := c.Max.Y - 8
	for _, row := range p.legendRows() {
		x := c.Min.X + 8
		for _, s := range row {
			s.symbol(n, x, y)
			n.Text(sty, x+11, y+1, s.text)
			x += sampleWidth(s)
		}
		y -= legendRow
	}
}
