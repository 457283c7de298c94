package timeline

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/reports/story"
)

// axis has the times at which the picture's scale changes, sorted. Between two of them time runs evenly. A
// short time between two steps of the story gets room for their numbers, and a long wait loses width.
type axis []stop

// stop is an instant written at the axis.
type stop struct {
	At   time.Duration
	Step bool // a step of the story
}

// newAxis stops at the edges of the picture, the steps, the harm, the holds in the harm and late messages.
func newAxis(f story.Focus, s scene) axis {
	stops := axis{{At: f.From}, {At: max(f.To, f.From+time.Microsecond)}, {At: s.Harm.From}, {At: s.Harm.To}}
	for _, x := range s.Steps {
		stops = append(stops, stop{x.At, true})
	}
	for _, h := range f.Involved() {
		stops = append(stops, stop{At: h.From}, stop{At: h.To})
	}
	for _, a := range s.Arrows {
		if f.From <= a.Sent && a.Came <= f.To && len(stops) < mostStops {
			stops = append(stops, stop{At: a.Sent}, stop{At: a.Came})
		}
	}
	first, last := stops[0].At, stops[1].At
	stops = slices.DeleteFunc(stops, func(x stop) bool { return x.At < first || x.At > last })
	slices.SortStableFunc(stops, func(a, b stop) int { return cmp.Compare(a.At, b.At) })
	out := stops[:1]
	for _, x := range stops[1:] {
		if end := &out[len(out)-1]; x.At-end.At < time.Microsecond { // the same instant on paper
			end.Step = end.Step || x.Step
			continue
		}
		out = append(out, x)
	}
	return out
}

const mostStops = 40

// Least widths between two stops, in pixels: the first if both are steps, so that their numbers have room.
const (
	besideStep = 34
	besideStop = 14
)

// ruler places times on an axis that has a width.
type ruler struct {
	axis
	places []float64 // of the stops
}

// over gives the axis a width. Each time between two stops has its least width; the root of how long it
// lasts divides the rest.
func (a axis) over(width float64) ruler {
	least, root := make([]float64, len(a)), make([]float64, len(a))
	var fixed, roots float64
	for i := 1; i < len(a); i++ {
		least[i], root[i] = besideStop, math.Sqrt(float64(a[i].At-a[i-1].At))
		if a[i].Step && a[i-1].Step {
			least[i] = besideStep
		}
		fixed += least[i]
		roots += root[i]
	}
	scale := min(1, float64(width*0.7)/max(fixed, 1))
	rest := width - float64(fixed*scale)
	r := ruler{a, make([]float64, len(a))}
	for i := 1; i < len(a); i++ {
		r.places[i] = r.places[i-1] + float64(least[i]*scale) + float64(rest*root[i]/roots)
	}
	return r
}

// x returns the place of a time, kept within the edges.
func (r ruler) x(t time.Duration) float64 {
	i, found := slices.BinarySearchFunc(r.axis, t, func(s stop, t time.Duration) int { return cmp.Compare(s.At, t) })
	switch {
	case found || i == 0:
		return r.places[i]
	case i == len(r.axis):
		return r.places[i-1]
	}
	a, b := r.axis[i-1].At, r.axis[i].At
	return r.places[i-1] + float64((r.places[i]-r.places[i-1])*float64(t-a)/float64(b-a))
}
