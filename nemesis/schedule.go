package nemesis

import (
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// move is one action that can be placed anywhere in a trial.
type move struct {
	Action
	// cost is how long it usually takes once it struck, 0 = as long as it may.
	cost time.Duration
	// gap is how long the lock is left alone afterwards.
	gap time.Duration
}

// rare says whether the move waits for something that few critical sections
// show, a renewal: it gets a plan of its own.
func (m move) rare() bool {
	p := m.Point
	return p != nil && p.N > 0 && p.Step != testbed.StepAcquire && p.Step != testbed.StepRelease
}

// usual is how long the action usually is in force.
func (m move) usual() time.Duration {
	if m.cost > 0 {
		return min(m.cost, m.length())
	}
	return m.length()
}

// length is the longest that an action can be in force.
func (a Action) length() time.Duration {
	if a.Until != nil {
		return max(a.For, a.Limit+a.Linger, a.Away)
	}
	return max(a.For, a.Away)
}

// pack puts moves, in their order, into plans of at most n actions that follow
// each other, as many as a trial has time for. A move for which a whole trial
// is too short is left out.
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

// fit is how many of the first moves a trial has time for.
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

// wait is how long it usually takes until some client gets to a place.
func (w World) wait() time.Duration {
	return min(w.Hold, w.TTL/2) + w.TTL/5
}

// sequence is a plan of moves one after another.
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
	// Who waits for a place that is never reached must not use up the time of
	// those behind it.
	by := w.Duration
	for i := len(moves) - 1; i >= 0; i-- {
		last := w.Duration - p[i].length()
		if by -= moves[i].usual(); i < len(moves)-1 {
			by -= moves[i].gap + w.wait()
		}
		p[i].By = min(last, max(by, w.earliest(moves[:i])+w.TTL))
		by = min(by, p[i].By)
	}
	return p
}

// earliest is when the next of these moves can usually start.
func (w World) earliest(before []move) time.Duration {
	at := 2 * w.TTL / 5
	for _, m := range before {
		at += w.wait() + m.usual() + m.gap
	}
	return at
}

// start is an instant early in the trial, when clients are at work.
func (w World) start(r *rand.Rand) time.Duration {
	jitter := time.Duration(r.Int64N(int64(w.TTL)/5 + 1))
	return min(w.Duration/4, (w.TTL/5 + jitter).Round(max(1, w.TTL/1000)))
}

// lease is how long the lock of a client that stopped keeps others out, by the
// recipe's own word; the lease time if it does so for ever.
func (w World) lease() time.Duration { return max(w.TTL, w.Claims.Recovery) }

// outlast is longer than the lease by more than a retry and a hold, but leaves
// room for a trigger: what cannot outlast a recovery outlasts the lease time.
func (w World) outlast() time.Duration {
	long := w.lease() + 3*w.TTL/5
	if long > 3*w.Duration/4 {
		return w.TTL + 3*w.TTL/5
	}
	return long
}

// retries is a stall of some attempts, shorter than a lease.
func (w World) retries() time.Duration {
	retry := w.Retry
	if retry <= 0 {
		retry = w.TTL / 20
	}
	return min(max(3*retry, 2*w.Hold), w.TTL/2)
}

// timeout is the clients' read timeout.
func (w World) timeout() time.Duration {
	if w.CommandTimeout > 0 {
		return w.CommandTimeout
	}
	return 3 * time.Second
}

// everyone lists the clients.
func (w World) everyone() []int {
	all := make([]int, w.Clients)
	for i := range all {
		all[i] = i
	}
	return all
}

// at is the trigger of whoever gets to a command first.
func (w World) at(p place, when testbed.When) *Trigger {
	return &Trigger{Clients: w.everyone(), Step: p.step, Node: p.node, N: p.n, When: when}
}

// step is the trigger of whoever begins a step first.
func (w World) step(name string) *Trigger {
	return &Trigger{Clients: w.everyone(), Step: name}
}

// other is the trigger of whoever but the struck client begins a step.
func (w World) other(name string) *Trigger {
	t := w.step(name)
	t.Who = Other
	return t
}

// free arms a trigger of an acquire when somebody has just released the lock:
// the next attempt is the one that gets it. Other places need no arming.
func (w World) free(p place) *Trigger {
	if p.step != testbed.StepAcquire {
		return nil
	}
	return w.step(testbed.StepRest)
}

// reach are the nodes whose links a fault at a command strikes: its own, or, if
// it is the first of its step to the first of several, a majority of them. One
// node alone would be outvoted.
func (w World) reach(p place) []string {
	if len(w.Nodes) > 1 && p.n == 1 && p.node == w.Nodes[0] {
		return w.nodeSets()[0].nodes
	}
	return []string{p.node}
}

// action starts an action of a fault at a command.
func (w World) action(fault, idea string, p place, when testbed.When) Action {
	return Action{
		Fault: fault, Idea: idea, Client: history.NoClient,
		Arm: w.free(p), Point: w.at(p, when), Nodes: []string{p.node},
	}
}

// during starts an action of a fault at the beginning of a step.
func (w World) during(fault, idea, step string) Action {
	return Action{Fault: fault, Idea: idea, Client: history.NoClient, Point: w.step(step), Nodes: w.Nodes[:1]}
}
