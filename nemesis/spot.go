package nemesis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// spot is a place in a protocol at which a plan strikes. At a command, it is the moment before the
// command, the moment when it is sent, or the moment when its reply arrives. Else it is the
// beginning of a step. A spot is the same for all clients.
type spot struct {
	step string
	node string       // the node that gets the command
	n    int          // number of the command in its step and node; 0 = the step begins
	when testbed.When // the moment at the command: Before, Sent or Replied
	// inner marks the acquire of a client that already holds the lock.
	inner bool
}

// String is the spot's part of a schedule's name: "acquire.n0.1.before".
func (s spot) String() string {
	step := s.step
	if s.inner {
		step = "reenter"
	}
	if s.n == 0 {
		return step
	}
	return fmt.Sprintf("%s.%s.%d.%s", step, s.node, s.n, s.when)
}

// trigger returns the trigger set off by the first of these clients to get to the spot.
func (s spot) trigger(clients []int) *Trigger {
	return &Trigger{Clients: clients, Step: s.step, Node: s.node, N: s.n, When: s.when}
}

// action returns an action that strikes the first of these clients to reach the spot; at an inner spot,
// only the first client of the list. At a command of an acquire the action waits until a client has just
// released the lock, so that it usually strikes an attempt that succeeds.
func (w World) action(s spot, idea string, clients []int, l lineup) Action {
	a := Action{Idea: idea, Client: history.NoClient, Point: s.trigger(clients), Nodes: []string{s.node}}
	if s.n == 0 {
		a.Nodes = w.Nodes[:1]
	}
	switch {
	case s.inner:
		a.Point.Clients = clients[:1]
		a.Arm = beginning(testbed.StepHold).trigger(clients[:1])
	case s.step == testbed.StepAcquire && s.n > 0:
		a.Arm = l.anyone(testbed.StepRest)
	}
	return a
}

// protocol lists the steps of one critical section in order.
var protocol = []string{testbed.StepAcquire, testbed.StepHold, testbed.StepRead, testbed.StepTouch, testbed.StepRelease}

// believing are the beginnings of the steps in which a client believes that it holds the lock. No
// command is at these spots.
var believing = begins(testbed.StepHold, testbed.StepRead, testbed.StepTouch)

// beginning returns the spot at the beginning of a step.
func beginning(step string) spot { return spot{step: step} }

// begins returns the spots at the beginnings of steps.
func begins(steps ...string) []spot {
	var all []spot
	for _, step := range steps {
		all = append(all, beginning(step))
	}
	return all
}

// first returns a slice of the first spot, empty if there is none.
func first(spots []spot) []spot { return spots[:min(1, len(spots))] }

// last returns a slice of the last spot, empty if there is none.
func last(spots []spot) []spot { return spots[max(0, len(spots)-1):] }

// Spots of drawn plans: a few telling ones among the commands that the probe trial showed.

// commands returns the spots at a step's commands, sorted by node, then number. when is Before, Sent
// or Replied. On independent nodes commands returns only the first command to each node: later
// commands clean up a failed attempt.
func (w World) commands(when testbed.When, step string) []spot {
	var all []spot
	for _, p := range w.Points {
		s := spot{step: p.Step, node: p.Node, n: p.N, when: when}
		if len(w.Nodes) > 1 && p.N > 1 {
			continue
		}
		if p.Step == step && p.N > 0 && slices.Contains(w.Nodes, p.Node) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b spot) int {
		return cmp.Or(cmp.Compare(slices.Index(w.Nodes, a.node), slices.Index(w.Nodes, b.node)), cmp.Compare(a.n, b.n))
	})
	return slices.Compact(all) // Points has up to three points of a command
}

// firstCommand returns the spot at the first command of a step, if the step has one. when is Before,
// Sent or Replied.
func (w World) firstCommand(when testbed.When, step string) []spot {
	return first(w.commands(when, step))
}

// lastCommand returns the spot at the last command of a step, if the step has one. when is Before,
// Sent or Replied.
func (w World) lastCommand(when testbed.When, step string) []spot {
	return last(w.commands(when, step))
}

// halfway returns the spots at the commands of a step, without the first. On independent nodes it
// returns only the spot at the command that completes the quorum.
func (w World) halfway(when testbed.When, step string) []spot {
	all := w.commands(when, step)
	if len(all) < 2 {
		return nil
	}
	if len(w.Nodes) == 1 {
		return all[1:]
	}
	for _, s := range all[1:] {
		if slices.Index(w.Nodes, s.node) >= max(1, w.Claims.Quorum)-1 {
			return []spot{s}
		}
	}
	return nil
}

// renewals returns the commands that a watchdog sends while the lock is held: only the
// first of each step, to the first node, and two at most.
func (w World) renewals(when testbed.When) []spot {
	var all []spot
	for _, step := range protocol[1:4] {
		for _, s := range w.commands(when, step) {
			if s.n == 1 && s.node == w.Nodes[0] {
				all = append(all, s)
			}
		}
	}
	return all[:min(2, len(all))]
}

// Named schedules aim at every spot that can make a difference.

// most is the number of commands of a step at which schedules strike. Later commands repeat
// earlier ones: a watchdog's renewals, a waiting client's polls.
var most = map[string]int{
	testbed.StepAcquire: 4, testbed.StepRelease: 3,
	testbed.StepHold: 2, testbed.StepRead: 2, testbed.StepTouch: 2,
}

// boundaries returns the spots at the commands in World.Points, in the protocol's order. when is Before,
// Sent or Replied. boundaries takes the commands of the given steps, or of all steps if none are given. On
// one node it leaves out a step's late commands: see most. On independent nodes it takes only these
// commands:
//
//   - the first command to the first node, to the node that completes the quorum, and to the last node;
//   - the second command of an acquire to the first node, which cleans up a failed attempt.
func (w World) boundaries(when testbed.When, steps ...string) []spot {
	if len(steps) == 0 {
		steps = protocol
	}
	var all []spot
	for _, p := range w.Points {
		if p.When == when && p.N > 0 && slices.Contains(steps, p.Step) && w.struck(p) {
			all = append(all, spot{step: p.Step, node: p.Node, n: p.N, when: when})
		}
	}
	slices.SortStableFunc(all, func(a, b spot) int {
		return slices.Index(protocol, a.step) - slices.Index(protocol, b.step)
	})
	return all
}

// struck reports whether schedules strike at p. They skip points that are equivalent to one
// at which they already strike.
func (w World) struck(p testbed.Point) bool {
	if len(w.Nodes) == 1 {
		return p.Node == w.Nodes[0] && p.N <= most[p.Step]
	}
	switch p.Node {
	case w.Nodes[0]:
		return p.N == 1 || p.N == 2 && p.Step == testbed.StepAcquire
	case w.Nodes[w.quorum()-1], w.Nodes[len(w.Nodes)-1]:
		return p.N == 1
	}
	return false
}

// later returns the spots before the commands of an acquire, without the first command. On
// independent nodes it leaves out all commands to the first node.
func (w World) later() []spot {
	return slices.DeleteFunc(w.boundaries(testbed.Before, testbed.StepAcquire), func(s spot) bool {
		if len(w.Nodes) == 1 {
			return s.n == 1
		}
		return s.node == w.Nodes[0]
	})
}

// granted returns the spots at replies that may be the grant. On independent nodes that is the last
// reply of an acquire. On one node it is every reply, since an acquire may take fewer commands than
// the probe trial shows.
func (w World) granted() []spot {
	all := w.boundaries(testbed.Replied, testbed.StepAcquire)
	if len(w.Nodes) > 1 {
		return last(all)
	}
	return all
}

// releases returns the spots before each command of a release.
func (w World) releases() []spot { return w.boundaries(testbed.Before, testbed.StepRelease) }

// reentry returns the spot at the first command with which a holder acquires again, if the recipe is
// reentrant. when is Before, Sent or Replied.
func (w World) reentry(when testbed.When) []spot {
	if !w.Claims.Reentrant {
		return nil
	}
	all := first(w.boundaries(when, testbed.StepAcquire))
	for i := range all {
		all[i].inner = true
	}
	return all
}

// requests returns the spots before each command that clients send.
func (w World) requests() []spot {
	return slices.Concat(w.boundaries(testbed.Before), w.reentry(testbed.Before))
}

// everywhere returns the spots before each command and at the beginning of each step in
// which a client believes that it holds the lock.
func (w World) everywhere() []spot {
	return slices.Concat(w.boundaries(testbed.Before), believing, w.reentry(testbed.Before))
}

// holding returns the spots from the grant to the release.
func (w World) holding() []spot { return slices.Concat(w.granted(), believing, w.releases()) }

// slowing returns the spots at which a slow client matters: another client has the lock
// before this one goes on with its acquire, its critical section or its release.
func (w World) slowing() []spot {
	return slices.Concat(w.later(), w.granted(), begins(testbed.StepHold), w.releases())
}

// losing returns the spots at which nodes may have keys to lose: before each command but the first,
// at each reply but a release's, and at the beginning of each step in which a client believes that
// it holds the lock.
func (w World) losing() []spot {
	asks := w.boundaries(testbed.Before)
	return slices.Concat(asks[min(1, len(asks)):], w.boundaries(testbed.Replied, protocol[:len(protocol)-1]...), believing)
}

// kept returns the spots after the grant, at which a restart can undo a recently
// acknowledged write.
func (w World) kept() []spot {
	return slices.Concat(w.holding(), w.boundaries(testbed.Replied, testbed.StepRead, testbed.StepRelease))
}
