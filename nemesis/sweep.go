package nemesis

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// sweep says how a fault grows step by step, to find the size at which a lock breaks. The zero
// value means that the fault has no size to vary.
type sweep struct {
	axis  string    // the meaning of a size: "pause ÷ TTL"
	sizes []float64 // multiples of the lease time, ascending, never 0
	spots func(World) []spot
	idea  string // text of Action.Idea; %s stands for the size
	// shape returns a function that gives an action the size d, such as the length of a pause.
	shape func(w World, l lineup, d time.Duration) func(*Action)
}

// Lengths and offsets of sweeps, in lease times. They are denser around 1, where a lease
// ends.
var (
	lengths = []float64{0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 3}
	offsets = []float64{-3, -2, -1.25, -1, -0.75, -0.5, -0.1, 0.1, 0.5, 0.75, 1, 1.25, 2, 3}
)

// Axis returns the meaning of the sizes in the fault's sweep: "pause ÷ TTL"; "" if the fault
// has no sweep.
func (f Fault) Axis() string { return f.sweep.axis }

// Sizes returns the sizes of the fault in its sweep, in lease times, ascending; none if the
// fault has no sweep.
func (f Fault) Sizes() []float64 { return slices.Clone(f.sweep.sizes) }

// Sweep enumerates the schedules of a fault's sweep. In each round, each size strikes once at each
// spot of the protocol, and schedules of different sizes differ in nothing else. More rounds only
// append schedules to the list. The schedules depend only on the world, as the schedules of Named
// do. The list is empty if the fault has no sweep. The error wraps ErrNotSupported if the fault has
// nothing to strike.
func Sweep(fault string, w World, rounds int) ([]Schedule, error) {
	return enumerated(fault, w, func(f Fault) func(World) []Schedule {
		if f.sweep.axis == "" {
			return nil
		}
		return func(w World) []Schedule { return f.sweep.schedules(w, rounds) }
	})
}

// schedules returns the schedules of so many rounds.
func (p sweep) schedules(w World, rounds int) []Schedule {
	e, l := w.enumerate(), w.one()
	for round := range rounds {
		for _, size := range p.sizes {
			d := time.Duration(size * float64(w.TTL))
			for _, s := range p.spots(w) {
				number := strconv.FormatFloat(size, 'g', -1, 64)
				e.add(l, s, fmt.Sprintf("size%s.round%d", number, round+1), fmt.Sprintf(p.idea, number+" TTL"), p.shape(w, l, d))
				e.all[len(e.all)-1].Size = size
			}
		}
	}
	return e.all
}

// The sweeps of the faults client-pause (frozen), client-skew (skewed) and node-clock (jumped).
var (
	frozen = sweep{
		axis: "pause ÷ TTL", sizes: lengths, idea: "freezes for %s",
		spots: func(w World) []spot { return slices.Concat(w.requests(), w.granted(), believing) },
		shape: func(_ World, _ lineup, d time.Duration) func(*Action) {
			return func(a *Action) { a.Nodes, a.For = nil, d }
		},
	}
	skewed = sweep{
		axis: "error of a client's clock ÷ TTL", sizes: offsets, idea: "its clock is off by %s",
		spots: func(w World) []spot { return w.everywhere() },
		shape: func(w World, _ lineup, d time.Duration) func(*Action) {
			return func(a *Action) { a.Nodes, a.Offset, a.For = nil, d, w.severalTurns() }
		},
	}
	jumped = sweep{
		axis: "jump of the nodes' clocks ÷ TTL", sizes: offsets, idea: "the nodes' clocks jump by %s",
		spots: func(w World) []spot { return slices.Concat(w.granted(), believing, w.releases()) },
		shape: func(w World, l lineup, d time.Duration) func(*Action) { return w.jump(w.together().nodes, d, l) },
	}
)
