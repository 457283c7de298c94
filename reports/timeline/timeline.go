package timeline

import (
	"image/color"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/reports/story"
)

// Sizes of a timeline, in points.
const (
	fullWidth   = 920
	titleHeight = 40
	legendRow   = 14
	axisHeight  = 38
	harmHeight  = 17 // room for the harm's label above the lanes
	labelGap    = 4
)

func (k laneKind) height() vg.Length {
	switch k {
	case faultLane:
		return 16
	case findingLane:
		return 15
	case clientLane:
		return 34
	}
	return 27
}

// Draw draws the part of a trial in focus as an SVG file. faultColor returns a fault's colour as
// "#rrggbb". The title of a bar or a mark describes what the bar or the mark stands for.
func Draw(f story.Focus, faultColor func(string) string) ([]byte, error) {
	s := newScene(f)
	p := newPainter(s, faultColor)
	legend := 12 + legendRow*vg.Length(len(p.legendRows()))
	height := titleHeight + harmHeight + p.total + axisHeight + legend
	picture, err := svg.Draw(fullWidth, height, s.Title+": "+s.Subtitle, func(c draw.Canvas) {
		c.SetColor(svg.Paper)
		c.Fill(c.Rectangle.Path())
		p.title(draw.Crop(c, 12, -12, height-titleHeight, 0))
		p.plot(draw.Crop(c, 8, -18, legend, -titleHeight))
		p.legend(draw.Crop(c, 12, -12, 0, -(height - legend)))
	})
	if err != nil {
		return nil, err
	}
	return svg.CompactFile(svg.Titled(picture, p.titles)), nil
}

// painter draws a scene's lanes as a gonum plotter. X is in seconds; Y is in points above the
// bottom of the lowest lane.
type painter struct {
	scene
	faultColor func(string) string
	tops       []vg.Length // each lane's distance from the top of the first lane
	total      vg.Length

	pen  svg.Canvas
	x, y func(float64) vg.Length
	// written has, for each lane, the intervals of X that labels occupy.
	written [][][2]vg.Length
	titles  []string // the groups' titles, as the input of svg.Titled
}

func newPainter(s scene, faultColor func(string) string) *painter {
	p := &painter{scene: s, faultColor: faultColor}
	for i, l := range s.Lanes {
		if i > 0 && s.Lanes[i-1].Kind != l.Kind {
			p.total += 5
		}
		p.tops = append(p.tops, p.total)
		p.total += l.Kind.height()
	}
	p.written = make([][][2]vg.Length, len(s.Lanes))
	return p
}

func (p *painter) title(c draw.Canvas) {
	n := svg.Canvas{Canvas: c}
	n.Text(svg.Bold(svg.TextStyle(13, svg.Ink, draw.XLeft, draw.YTop)), c.Min.X, c.Max.Y-8, p.Title)
	n.Text(svg.TextStyle(9, svg.Muted, draw.XLeft, draw.YTop), c.Min.X, c.Max.Y-24, p.Subtitle)
}

func (p *painter) plot(c draw.Canvas) {
	g := plot.New()
	g.BackgroundColor = nil
	g.X.Min, g.X.Max = p.From.Seconds(), p.To.Seconds()
	if g.X.Max <= g.X.Min {
		g.X.Max = g.X.Min + 1e-3
	}
	g.Y.Min, g.Y.Max = 0, float64(p.total+harmHeight)
	g.X.Padding, g.Y.Padding = 2, 4
	g.X.Label.Padding = 4
	g.X.Label.Text = "seconds since the trial's start"
	g.X.Label.TextStyle = svg.TextStyle(svg.FontLabel, svg.Muted, draw.XCenter, draw.YBottom)
	g.X.Tick.Label = svg.TextStyle(svg.FontLabel, svg.Ink, draw.XCenter, draw.YTop)
	g.X.LineStyle, g.X.Tick.LineStyle = svg.Line(svg.Muted, 0.6), svg.Line(svg.Muted, 0.6)
	g.X.Tick.Marker = plot.TickerFunc(secondTicks)
	g.Y.LineStyle.Width, g.Y.Tick.Length = 0, 0
	g.Y.Tick.Label = svg.TextStyle(svg.FontLabel, svg.Ink, draw.XRight, draw.YCenter)
	g.Y.Tick.Marker = plot.ConstantTicks(p.laneTicks())
	g.Add(p)
	g.Draw(c)
}

func (p *painter) laneTicks() []plot.Tick {
	var ticks []plot.Tick
	for i, l := range p.Lanes {
		if l.Label != "" {
			ticks = append(ticks, plot.Tick{Value: float64(p.total - p.tops[i] - l.Kind.height()/2), Label: l.Label})
		}
	}
	return ticks
}

// secondTicks places about ten labelled ticks at round seconds. math.Abs removes the sign of a
// rounded -0; no other time is negative.
func secondTicks(from, to float64) []plot.Tick {
	step := svg.RoundStep((to - from) / 10)
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	var ticks []plot.Tick
	for n := math.Ceil(from/step - 1e-9); n*step <= to+step*1e-9; n++ {
		ticks = append(ticks, plot.Tick{Value: n * step, Label: strconv.FormatFloat(math.Abs(n*step), 'f', decimals, 64)})
	}
	return ticks
}

// Plot implements plot.Plotter.
func (p *painter) Plot(c draw.Canvas, g *plot.Plot) {
	p.pen = svg.Canvas{Canvas: c}
	p.x, p.y = g.Transforms(&c)
	p.ground(g)
	for i, l := range p.Lanes {
		for _, b := range l.Bars {
			p.titled(p.tell(l, b), func() { p.bar(i, b) })
		}
	}
	p.harmEdges()
	for i, l := range p.Lanes {
		p.dead(i, l)
		for _, m := range l.Marks {
			p.titled(strings.Join(p.lines(m.Rows), "\n"), func() { p.mark(i, m) })
		}
	}
	for i, l := range p.Lanes {
		for _, b := range l.Bars {
			p.barLabel(i, b)
		}
		for _, m := range l.Marks {
			p.markLabel(i, m)
		}
	}
	p.harmText()
}

// at converts a time to X, clamped to the picture's edges.
func (p *painter) at(t time.Duration) vg.Length {
	return p.x(min(max(t, p.From), p.To).Seconds())
}

// rows returns the lower and upper edge of a lane, moved inwards by inset.
func (p *painter) rows(i int, inset vg.Length) (bottom, top vg.Length) {
	h := p.Lanes[i].Kind.height()
	return p.y(float64(p.total-p.tops[i]-h)) + inset, p.y(float64(p.total-p.tops[i])) - inset
}

func (p *painter) fault(name string) color.NRGBA { return svg.Color(p.faultColor(name)) }

// titled calls paint within a group that has the title; if the title is "", without a group.
func (p *painter) titled(title string, paint func()) {
	if title == "" {
		paint()
		return
	}
	p.pen.Group(len(p.titles), paint)
	p.titles = append(p.titles, title)
}

// ground draws the background: lanes, grid, fault bands, the harm, shades.
func (p *painter) ground(g *plot.Plot) {
	left, right := p.at(p.From), p.at(p.To)
	for i, l := range p.Lanes {
		b, t := p.rows(i, 1)
		if l.Kind == clientLane || l.Kind == nodeLane {
			p.pen.Box(svg.Wash, left, b, right, t)
		}
	}
	floor, ceiling := p.y(0), p.y(float64(p.total))
	for _, tick := range g.X.Tick.Marker.Ticks(g.X.Min, g.X.Max) {
		p.pen.Lines(svg.Line(svg.Rule, 0.4), vg.Point{X: p.x(tick.Value), Y: floor}, vg.Point{X: p.x(tick.Value), Y: ceiling})
	}
	for _, l := range p.Lanes {
		for _, b := range l.Bars {
			if b.Style == barFault {
				p.pen.Box(svg.Alpha(p.fault(b.Fault), 0.07), p.at(b.From), floor, p.widen(b), ceiling)
			}
		}
	}
	p.harm()
	for i, l := range p.Lanes {
		b, t := p.rows(i, 1)
		for _, s := range l.Shades {
			c := p.fault(s.Fault)
			x0, x1 := p.at(s.From), p.at(s.To)
			p.pen.Box(svg.Alpha(c, 0.16), x0, b, x1, t)
			p.pen.Hatch(svg.Line(svg.Alpha(c, 0.4), 0.6), 6, x0, b, x1, t)
		}
	}
}

// widen returns the right edge of a bar, moved right if the bar would be too short to be seen.
func (p *painter) widen(b bar) vg.Length {
	least := vg.Length(1.5)
	if b.Style == barBusy || b.Style == barAttempt {
		least = 3
	}
	return max(p.at(b.To), p.at(b.From)+least)
}

func (p *painter) bar(i int, b bar) {
	ink := svg.ClientInk(b.Client)
	if b.Style == barFault {
		ink = p.fault(b.Fault)
	}
	k := barSamples[b.Style].stroke
	bottom, top := p.rows(i, 2)
	mid, half := (bottom+top)/2-k.low, (top-bottom)/2-k.inset
	if k.half > 0 {
		half = k.half
	}
	k.draw(p.pen, ink, p.at(b.From), mid-half, p.widen(b), mid+half)
}

// dead greys out the lane from when the client or node stopped for ever.
func (p *painter) dead(i int, l lane) {
	if l.Dead == 0 || l.Dead > p.To {
		return
	}
	b, t := p.rows(i, 1)
	x0, x1 := p.at(l.Dead), p.at(p.To)
	p.pen.Box(svg.Alpha(svg.Muted, 0.18), x0, b, x1, t)
	p.pen.Lines(svg.Line(svg.Muted, 0.8, 2, 3), vg.Point{X: x0, Y: (b + t) / 2}, vg.Point{X: x1, Y: (b + t) / 2})
}

// harmed returns the left and the right edge of the finding in focus.
func (p *painter) harmed() (x0, x1 vg.Length) {
	if p.Harm.Forever {
		return p.at(p.Harm.From), p.at(p.To)
	}
	return p.at(p.Harm.From), p.at(p.Harm.To)
}

// harm tints the interval of the finding in focus. The tint is below the bars, so that their
// labels stay readable.
func (p *painter) harm() {
	x0, x1 := p.harmed()
	floor, ceiling := p.y(0), p.y(float64(p.total))+2
	tint := 0.13
	if x1-x0 > (p.at(p.To)-p.at(p.From))/2 {
		tint = 0.07
	}
	p.pen.Box(svg.Alpha(svg.Alarm, tint), x0, floor, max(x1, x0+1), ceiling)
}

// harmEdges marks the beginning and the end of the violation.
func (p *painter) harmEdges() {
	x0, x1 := p.harmed()
	floor, ceiling := p.y(0), p.y(float64(p.total))+2
	p.pen.Polygon(svg.Alarm, vg.Point{X: x0 - 4, Y: ceiling + 2}, vg.Point{X: x0 + 4, Y: ceiling + 2}, vg.Point{X: x0, Y: ceiling - 4})
	edge := svg.Line(svg.Alarm, 0.9, 4, 2)
	p.pen.Lines(edge, vg.Point{X: x0, Y: floor}, vg.Point{X: x0, Y: ceiling})
	if !p.Harm.Forever && x1 > x0+1 {
		p.pen.Lines(edge, vg.Point{X: x1, Y: floor}, vg.Point{X: x1, Y: ceiling})
	}
}

func (p *painter) harmText() {
	x0, x1 := p.harmed()
	sty := svg.Bold(svg.TextStyle(svg.FontLabel, svg.Alarm, draw.XCenter, draw.YBottom))
	half := sty.Width(p.HarmLabel) / 2
	x := min(max((x0+x1)/2, p.at(p.From)+half), p.at(p.To)-half)
	p.pen.Text(sty, x, p.y(float64(p.total))+6, p.HarmLabel)
}

func (p *painter) mark(i int, m mark) {
	bottom, top := p.rows(i, 0)
	mid, x, c := (bottom+top)/2, p.at(m.At), svg.ClientInk(m.Client)
	if m.Foreign {
		c = svg.Alarm
	}
	g := markSamples[m.Shape].glyph
	y := mid - g.low
	if g.down > 0 {
		y = top - g.down
	}
	g.draw(p.pen, spot{x: x, y: y, ink: c, paper: svg.Wash, lane: top - bottom})
	if g.stem != 0 {
		p.pen.Lines(svg.Line(c, 1), vg.Point{X: x, Y: y + g.stem}, vg.Point{X: x, Y: mid - 8})
	}
}
