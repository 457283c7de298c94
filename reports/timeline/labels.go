package timeline

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/reports/internal/svg"
)

// barLabel writes a bar's label into the bar if it fits. A label of a fault or a finding that does
// not fit goes beside the bar if there is room.
func (p *painter) barLabel(i int, b bar) {
	x0, x1 := p.at(b.From)+labelGap, p.widen(b)
	bottom, top := p.rows(i, 0)
	k := barSamples[b.Style].stroke
	mid := (bottom+top)/2 + 1 - k.low
	sty := svg.TextStyle(svg.FontSmall, svg.Ink, draw.XLeft, draw.YCenter)
	fillsLane := k.low == 0 // the bar fills its lane
	w := sty.Width(b.Label)
	switch right, left := x1+3, p.at(b.From)-3-w; {
	case b.Label == "", k.half > 0 && 2*k.half < svg.FontSmall:
		return
	case x0+w+1 <= x1:
		switch b.Style {
		case barHold:
			sty.Color = svg.On(svg.ClientInk(b.Client))
		case barFinding:
			sty.Color = svg.On(svg.Alarm)
		case barGone, barUnknown:
			p.pen.Box(svg.Wash, x0-2, mid-5, x0+w+2, mid+4) // hides the hatching
		}
	case !fillsLane:
		return
	case right+w <= p.at(p.To) && p.clear(i, b, right, right+w):
		x0 = right
	case left >= p.at(p.From) && p.clear(i, b, left, left+w):
		x0 = left
	default:
		return
	}
	if fillsLane {
		p.written[i] = append(p.written[i], [2]vg.Length{x0, x0 + w})
	}
	p.pen.Text(sty, x0, mid, b.Label)
}

func (p *painter) markLabel(i int, m mark) {
	if m.Label == "" {
		return
	}
	_, top := p.rows(i, 0)
	sty := svg.TextStyle(svg.FontSmall, svg.Ink, draw.XLeft, draw.YTop)
	if markSamples[m.Shape].glyph.bold {
		sty = svg.Bold(sty)
	}
	w := sty.Width(m.Label)
	x := p.at(m.At) + 6
	if x+w > p.at(p.To) || !p.vacant(i, x, x+w) {
		x = p.at(m.At) - 6 - w
	}
	if x < p.at(p.From) || !p.vacant(i, x, x+w) {
		return
	}
	p.written[i] = append(p.written[i], [2]vg.Length{x, x + w})
	if len(p.Lanes[i].Shades) > 0 {
		p.pen.Box(svg.Wash, x-1, top-10, x+w+1, top-1) // hides the hatching
	}
	p.pen.Text(sty, x, top-2, m.Label)
}

// clear reports whether a label beside bar b would cover no other bar or label.
func (p *painter) clear(i int, b bar, from, to vg.Length) bool {
	for _, other := range p.Lanes[i].Bars {
		if (other.From != b.From || other.To != b.To || other.Label != b.Label) && from < p.widen(other) && to > p.at(other.From) {
			return false
		}
	}
	return p.vacant(i, from, to)
}

// vacant reports whether no label of the lane is in the interval yet.
func (p *painter) vacant(i int, from, to vg.Length) bool {
	for _, w := range p.written[i] {
		if from < w[1]+3 && to > w[0]-3 {
			return false
		}
	}
	return true
}
