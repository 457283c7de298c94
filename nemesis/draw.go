package nemesis

import (
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// Drawn plans: a fault lists its moves, the most telling ones first. Each plan gets as many moves
// as a trial has time for.

// drawing collects the moves of a fault's drawn plans.
type drawing struct {
	World
	moves []move
}

func (w World) draw() *drawing { return &drawing{World: w} }

// add adds a move at each spot. The move strikes the first client to get there; shape
// completes the move.
func (d *drawing) add(spots []spot, idea string, shape func(*move)) {
	l := d.crowd()
	for _, s := range spots {
		m := move{Action: d.action(s, idea, l.everyone(), l)}
		shape(&m)
		d.moves = append(d.moves, m)
	}
}

// plans packs the moves into plans of at most n actions.
func (d *drawing) plans(n int, r *rand.Rand) []Plan { return d.pack(d.moves, n, r) }

// move is one action that can be placed anywhere in a trial.
type move struct {
	Action
	// cost is how long the action is usually in force; 0 = its full length.
	cost time.Duration
	// gap is the pause between this action and the next.
	gap time.Duration
}

// rare reports whether the move waits for a renewal. Few critical sections have a renewal, so the
// move gets its own plan.
func (m move) rare() bool {
	p := m.Point
	return p != nil && p.N > 0 && p.Step != testbed.StepAcquire && p.Step != testbed.StepRelease
}

// usual returns how long the action is usually in force.
func (m move) usual() time.Duration {
	if m.cost > 0 {
		return min(m.cost, m.length())
	}
	return m.length()
}

// pack puts the moves, in order, into plans of at most n successive actions that fit into a
// trial. It leaves out a move that does not fit into a trial even alone.
func (w World) pack(moves []move, n int, r *rand.Rand) []Plan {
	var plans []Plan
	for len(moves) > 0 {
		fit := min(w.fit(moves), n)
		if fit == 0 {
			moves = moves[1:]
			continue
		}
		plans = append(plans, w.sequence(moves[:fit], r))
		moves = moves[fit:]
	}
	return plans
}

// fit returns how many of the first moves go into one plan: as many as a trial has time for, but a
// rare move only alone.
func (w World) fit(moves []move) int {
	at := 2 * w.TTL / 5
	for i, m := range moves {
		at += w.wait()
		if at+m.length() > w.Duration || i > 0 && m.rare() {
			return i
		}
		if m.rare() {
			return 1
		}
		at += m.usual() + m.gap
	}
	return len(moves)
}

// sequence returns a plan that makes the moves one after another.
func (w World) sequence(moves []move, r *rand.Rand) Plan {
	p := Plan{}
	for i, m := range moves {
		a := m.Action
		a.ID = i + 1
		if i == 0 {
			a.At = w.start(r)
		} else {
			a.After, a.Delay = i, moves[i-1].gap
		}
		p = append(p, a)
	}
	// An action whose spot is never reached must not use up the time of the next ones.
	by := w.Duration
	for i := len(moves) - 1; i >= 0; i-- {
		latest := w.Duration - p[i].length()
		if by -= moves[i].usual(); i < len(moves)-1 {
			by -= moves[i].gap + w.wait()
		}
		p[i].By = min(latest, max(by, w.earliest(moves[:i])+w.TTL))
		by = min(by, p[i].By)
	}
	return p
}

// earliest returns the usual start of the move that follows the given moves.
func (w World) earliest(before []move) time.Duration {
	at := 2 * w.TTL / 5
	for _, m := range before {
		at += w.wait() + m.usual() + m.gap
	}
	return at
}
