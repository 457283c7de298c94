package timeline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/wording"
)

// clientInks is the number of the style sheet's colours of clients.
const clientInks = 8

// clientClass returns the class that has a client's colour.
func clientClass(client int) string {
	if client < 0 {
		return ""
	}
	return "c" + strconv.Itoa(client%clientInks)
}

// thin keeps the first of equal marks that are less than a pixel apart.
func (p *picture) thin(marks []mark) (out []mark) {
	at := map[mark]time.Duration{}
	for _, m := range marks {
		kind := mark{Look: m.Look, Client: m.Client, Foreign: m.Foreign, Label: m.Label}
		if before, ok := at[kind]; !ok || p.x(m.At)-p.x(before) >= 1 {
			at[kind] = m.At
			out = append(out, m)
		}
	}
	return out
}

// barLabel writes the label of a lane's bar n into the bar. If it does not fit, the label of a fault or a finding
// stands beside the bar.
func (p *picture) barLabel(row *strip, all []bar, n int) {
	b := all[n]
	k, w := b.Look, widthOf(b.Label)
	if b.Label == "" || k.Height < fontSize {
		return
	}
	x, end := p.x(b.From), p.x(b.To)
	switch dy := k.Top + k.Height/2 + 4; {
	case end-x > w+8:
		class := map[*look]string{barHold: "on tl-" + clientClass(b.Client), barFault: "halo", barFinding: "onalarm", barGone: "halo", barUnknown: "halo"}[b.Look]
		p.write(row, b.Label, class, dy, x+5)
	case k.Beside:
		var spots []float64
		for _, from := range []float64{max(end, x+least) + 4, x - 4 - w} {
			clear := true
			for i, o := range all {
				clear = clear && (i == n || from > p.x(o.To) || from+w < p.x(o.From))
			}
			if clear {
				spots = append(spots, from)
			}
		}
		p.write(row, b.Label, "halo", dy, spots...)
	}
}

// write writes a label at the first of the spots where nothing else is written in the lane, if there is one.
func (p *picture) write(row *strip, label, class string, dy float64, spots ...float64) {
	w := widthOf(label)
	for _, x := range spots {
		if x >= 0 && x+w <= float64(p.Plot) && row.taken.take(x, x+w, 3) {
			row.Labels = append(row.Labels, text{class, label, px(x), px(dy)})
			return
		}
	}
}

// room has the places in a row that are taken.
type room [][2]float64

// take takes a place if there is a gap between it and the others.
func (r *room) take(from, to, gap float64) bool {
	if slices.ContainsFunc(*r, func(t [2]float64) bool { return from <= t[1]+gap && to >= t[0]-gap }) {
		return false
	}
	*r = append(*r, [2]float64{from, to})
	return true
}

// axis writes the times at the axis where they have room: those of steps first, in two rows.
func (p *picture) axis() {
	var rows [2]room
	texts := make([]tick, len(p.Axis))
	place := func(i int) {
		at, x := p.Axis[i].At, p.ruler.places[i]
		label := strings.TrimSuffix(wording.Instant(at), " s")
		if equal := func(j int) bool {
			return j >= 0 && j < len(p.Axis) && wording.Instant(p.Axis[j].At) == wording.Instant(at)
		}; equal(i-1) || equal(i+1) {
			label = wording.Stamp(at)
		}
		w := widthOf(label)
		from := min(max(x-w/2, -10), float64(p.Plot)+12-w)
		for n := range rows {
			if rows[n].take(from, from+w, 5) {
				y := p.Floor + px(32+14*n)
				texts[i] = tick{X: px(x), Shift: px(from + w/2 - x), Y: y, Foot: y - 11, Top: lanesAt, Floor: p.Floor, Time: label}
				return
			}
		}
		texts[i] = tick{X: px(x), Floor: p.Floor}
	}
	for _, steps := range []bool{true, false} {
		for i, s := range p.Axis {
			if s.Step == steps {
				place(i)
			}
		}
	}
	whole := p.Axis[len(p.Axis)-1].At - p.Axis[0].At
	var knots []string
	for i, t := range texts {
		knots = append(knots, t.X.String()+" "+strconv.FormatInt(p.Axis[i].At.Microseconds(), 10))
		if i+1 < len(texts) {
			gap, room := p.Axis[i+1].At-p.Axis[i].At, float64(texts[i+1].X-t.X)
			t.Broken = float64(gap)/float64(whole) > 2*room/float64(p.Plot)
			if label := wording.Length(gap); widthOf(label)+4 < room {
				t.Gap, t.GapX, t.GapY = label, t.X+px(room/2), p.Floor+13
			}
		}
		p.Ticks = append(p.Ticks, t)
	}
	p.Knots = strings.Join(knots, ",")
}
