package plots

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
)

const (
	waitRow   = 34           // height of a recipe's row
	waitWidth = waitBins + 4 // width of a column in tenths of a lease time, including the gap after it
	waitNamed = 3            // maximum number of omitted recipes that are named
	waitMost  = 3 * progress.WaitingTick
)

// waitingNeeds says what the campaign lacks if there is no plot of waiting.
var waitingNeeds = fmt.Sprintf("No recipe has %d trials in which clients waited around faults of one kind.", leastWaiting)

// plotWaiting draws how much longer clients waited for the lock, against the time since the fault
// struck. It has a row for each recipe and a column for each kind of fault.
func plotWaiting(c Campaign) (*chart, [][]string) {
	all := waves(c)
	recipes, _ := CellAxes(c.Matrix)
	var kinds, names, few []string
	for _, k := range struckKinds {
		if slices.ContainsFunc(recipes, func(lock string) bool { return all[waveAt{lock, k.name}] != nil }) {
			kinds = append(kinds, k.name)
		}
	}
	if len(kinds) == 0 {
		return nil, nil
	}
	for _, lock := range recipes {
		if slices.ContainsFunc(kinds, func(kind string) bool { return all[waveAt{lock, kind}] != nil }) {
			names = append(names, lock)
		} else {
			few = append(few, lock)
		}
	}
	out := newChart("How long clients waited for a lock while faults came and went")
	out.Height += 12 // for the columns' titles
	p := out.panel(names, waitRow, -progress.WaitingTick, float64(len(kinds)*waitWidth)-progress.WaitingTick)
	for i, kind := range kinds {
		at := func(tenth int) float64 { return p.x(float64(i*waitWidth + tenth)) }
		p.Write(svg.Words{Size: labelFont, Bold: true}, at(-progress.WaitingTick), p.top-7, kind+" faults")
		for j, lock := range names {
			box := waveBox{p, at, p.y(j) + 3, waitRow - 6}
			box.draw(all[waveAt{lock, kind}])
			if end := at(progress.WaitingSpan) + 2; i == len(kinds)-1 {
				p.Write(svg.Words{Size: smallFont, Ink: svg.Muted}, end, box.top+box.height-3, "0")
				p.Write(svg.Words{Size: smallFont, Ink: svg.Muted}, end, box.top+3, "≥ "+seconds(c.ttl(), waitMost))
			}
		}
	}
	p.axis("seconds since the fault struck · height: seconds from then until the waiting client got the lock", false, waitTicks(c.ttl(), len(kinds)))
	out.key(p.left, out.Height+6, []shade{{svg.Muted, 0.35, "fault in force (darker: in more trials)"}, {barInk, 1, "median"}, {svg.Alarm, 1, "99th percentile"}, {blockInk, 1, "never (thick: the median)"}})
	if len(few) > 0 {
		more := ""
		if len(few) > waitNamed {
			more, few = fmt.Sprintf(" and %d more", len(few)-waitNamed), few[:waitNamed]
		}
		out.Height += 13
		out.Write(svg.Words{Size: labelFont}, p.left, out.Height+6, fmt.Sprintf("no row: %s%s, below %d trials", strings.Join(few, ", "), more, leastWaiting))
	}
	out.Height += 18
	return out, waitsTable(c)
}

// seconds converts tenths of a lease time to seconds, as text.
func seconds(ttl time.Duration, tenths int) string {
	return strconv.FormatFloat(ttl.Seconds()*float64(tenths)/progress.WaitingTick, 'g', 3, 64)
}

// waitTicks labels each lease time in each column.
func waitTicks(ttl time.Duration, columns int) (ticks []tick) {
	for i := range columns {
		for at := -progress.WaitingTick; at < progress.WaitingSpan; at += progress.WaitingTick {
			ticks = append(ticks, tick{float64(i*waitWidth + at), strings.Replace(seconds(ttl, at), "-", "−", 1)})
		}
	}
	return ticks
}

// waveBox is the place of a wave: x returns the place of a tenth of a lease time.
type waveBox struct {
	panel
	at          func(tenth int) float64
	top, height float64
}

// draw draws a wave; nil is hatched.
func (b waveBox) draw(w *wave) {
	left := b.at(-progress.WaitingTick)
	b.box(svg.Wash, 1, 0, waitBins)
	if w == nil {
		b.Box(svg.Hatching, 1, left, b.top, b.at(progress.WaitingSpan)-left, b.height)
		return
	}
	w.runs(func(bin waitBin) [2]int { return [2]int{bin.inForce} }, func(from, end int, bin waitBin) {
		if bin.inForce > 0 {
			b.box(svg.Muted, 0.1+0.4*float64(bin.inForce)/float64(w.trials), from, end)
		}
	})
	b.Line(svg.Muted, 0.8, b.at(0), b.top, b.at(0), b.top+b.height)
	b.line(w, 0.99, svg.Alarm, 0.6)
	b.line(w, 0.5, barInk, 3)
}

// box fills the bins from one to before another.
func (b waveBox) box(ink svg.Ink, opacity float64, from, end int) {
	x := b.at(from - progress.WaitingTick)
	b.Box(ink, opacity, x, b.top, b.at(end-progress.WaitingTick)-x, b.height)
}

// line draws the course of a percentile. Where the percentile is "never", it draws a bar of height
// thick at the top.
func (b waveBox) line(w *wave, share float64, ink svg.Ink, thick float64) {
	var points []float64
	ends := func() {
		if len(points) > 2 {
			b.Line(ink, 1.2, points...)
		}
		points = nil
	}
	w.runs(func(bin waitBin) [2]int {
		v, ok := bin.of(share)
		return [2]int{v, map[bool]int{true: 1}[ok]}
	}, func(from, end int, bin waitBin) {
		x, to := b.at(from-progress.WaitingTick), b.at(end-progress.WaitingTick)
		switch v, ok := bin.of(share); {
		case !ok:
			ends()
		case v == never:
			ends()
			b.Box(blockInk, 1, x, b.top-0.6, to-x, thick+0.6)
		default:
			y := b.top + b.height*(1-float64(min(v, waitMost))/waitMost)
			points = append(points, x, y, to, y)
		}
	})
	ends()
}

// runs calls do for each run of bins with the same value, with the run's first bin.
func (w *wave) runs(value func(waitBin) [2]int, do func(from, end int, bin waitBin)) {
	for i := 0; i < len(w.bins); {
		from := i
		for i++; i < len(w.bins) && value(w.bins[i]) == value(w.bins[from]); {
			i++
		}
		do(from, i, w.bins[from])
	}
}
