package nemesis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// spot is a place in a protocol at which a plan strikes: one side of a command, or the
// beginning of a step. It is the same for all clients.
type spot struct {
	step string
	node string       // that the command goes to
	n    int          // number of the command in its step, counted on its node; 0 = the beginning of the step
	when testbed.When // the side of the command
	// inner: the holder's next acquire, of the lock that it holds.
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

// trigger is set off by the first of these clients to get to the spot.
func (s spot) trigger(clients []int) *Trigger {
	return &Trigger{Clients: clients, Step: s.step, Node: s.node, N: s.n, When: s.when}
}

// action starts an action at a spot, for the first of these clients of a line-up to get
// there. A command of an acquire counts once somebody has just released the lock: that
// attempt is the one that gets it.
func (w World) action(s spot, idea string, who []int, l lineup) Action {
	a := Action{Idea: idea, Client: history.NoClient, Point: s.trigger(who), Nodes: []string{s.node}}
	if s.n == 0 {
		a.Nodes = w.Nodes[:1]
	}
	switch {
	case s.inner:
		a.Point.Clients = who[:1]
		a.Arm = beginning(testbed.StepHold).trigger(who[:1])
	case s.step == testbed.StepAcquire && s.n > 0:
		a.Arm = l.anyone(testbed.StepRest)
	}
	return a
}

// protocol is the order of steps in one critical section.
var protocol = []string{testbed.StepAcquire, testbed.StepHold, testbed.StepRead, testbed.StepTouch, testbed.StepRelease}

// believing are the steps in which a client believes that it holds the lock. At their
// beginnings it sends nothing.
var believing = begins(testbed.StepHold, testbed.StepRead, testbed.StepTouch)

// beginning is the beginning of a step.
func beginning(step string) spot { return spot{step: step} }

// begins are the beginnings of steps.
func begins(steps ...string) []spot {
	var all []spot
	for _, step := range steps {
		all = append(all, beginning(step))
	}
	return all
}

// first is the first of spots that are in order, if there is one.
func first(spots []spot) []spot { return spots[:min(1, len(spots))] }

// last is the last of spots that are in order, if there is one.
func last(spots []spot) []spot { return spots[max(0, len(spots)-1):] }

// Drawn plans aim at a few telling spots. These are all commands that the probe trial
// showed, of the World's nodes.

// commands are one side of a step's commands, in the order of nodes, then numbers. On
// independent nodes the first command to each stands for the step: what follows there
// is the clean-up of an attempt that failed.
func (w World) commands(when testbed.When, step string) []spot {
	var all []spot
	for _, p := range w.Points {
		s := spot{step: p.Step, node: p.Node, n: p.N, when: when}
		if len(w.Nodes) > 1 && p.N > 1 {
			continue
		}
		if p.Step == step && p.N > 0 && slices.Contains(w.Nodes, p.Node) && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b spot) int {
		return cmp.Or(cmp.Compare(slices.Index(w.Nodes, a.node), slices.Index(w.Nodes, b.node)), cmp.Compare(a.n, b.n))
	})
	return all
}

// firstCommand is the first command of a step, if it has one.
func (w World) firstCommand(when testbed.When, step string) []spot {
	return first(w.commands(when, step))
}

// lastCommand is the last command of a step, if it has one.
func (w World) lastCommand(when testbed.When, step string) []spot {
	return last(w.commands(when, step))
}

// halfway are the commands of a step before which it is half done. On independent
// nodes the command that makes the quorum stands for all.
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

// renewals are commands that are sent while the lock is held: a watchdog's. The first
// of a step stands for all that follow, and one node for all.
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

// most is how many commands of a step schedules tell apart. Later commands of one
// attempt repeat the same: a watchdog's renewals, a waiting client's next look.
var most = map[string]int{
	testbed.StepAcquire: 4, testbed.StepRelease: 3,
	testbed.StepHold: 2, testbed.StepRead: 2, testbed.StepTouch: 2,
}

// boundaries are one side of the commands that World.Points shows, in the protocol's
// order; of these steps only, if there are any. Independent nodes are all alike: the
// first, the one that makes the quorum and the last stand for all. The second command
// of an acquire there is the clean-up of an attempt that failed.
func (w World) boundaries(when testbed.When, steps ...string) []spot {
	if len(steps) == 0 {
		steps = protocol
	}
	var all []spot
	for _, p := range w.Points {
		if p.When == when && p.N > 0 && slices.Contains(steps, p.Step) && w.telling(p) {
			all = append(all, spot{step: p.Step, node: p.Node, n: p.N, when: when})
		}
	}
	slices.SortStableFunc(all, func(a, b spot) int {
		return slices.Index(protocol, a.step) - slices.Index(protocol, b.step)
	})
	return all
}

// telling says whether a point stands for others like it.
func (w World) telling(p testbed.Point) bool {
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

// later are the commands of an acquire before which it is half done.
func (w World) later() []spot {
	return slices.DeleteFunc(w.boundaries(testbed.Before, testbed.StepAcquire), func(s spot) bool {
		if len(w.Nodes) == 1 {
			return s.n == 1
		}
		return s.node == w.Nodes[0]
	})
}

// granted is the last reply of an acquire that the probe saw. On one node all its
// replies are, since a shorter way may lead to the grant too.
func (w World) granted() []spot {
	all := w.boundaries(testbed.Replied, testbed.StepAcquire)
	if len(w.Nodes) > 1 {
		return last(all)
	}
	return all
}

// releases are the commands of a release, before each.
func (w World) releases() []spot { return w.boundaries(testbed.Before, testbed.StepRelease) }

// reentry is one side of the command with which a holder acquires again, for recipes
// that let it.
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

// requests are the commands that clients send, before each.
func (w World) requests() []spot {
	return slices.Concat(w.boundaries(testbed.Before), w.reentry(testbed.Before))
}

// everywhere is before each command, and at the beginning of each step in which a
// client believes that it holds the lock.
func (w World) everywhere() []spot {
	return slices.Concat(w.boundaries(testbed.Before), believing, w.reentry(testbed.Before))
}

// holding are the spots from the grant to the release.
func (w World) holding() []spot { return slices.Concat(w.granted(), believing, w.releases()) }

// slowing are the spots at which a slow client matters: another has the lock before it
// goes on with its acquire, its work or its release.
func (w World) slowing() []spot {
	return slices.Concat(w.later(), w.granted(), begins(testbed.StepHold), w.releases())
}

// losing are the spots at which nodes have something to lose: all but the first
// command, when the lock is free.
func (w World) losing() []spot {
	asks := w.boundaries(testbed.Before)
	return slices.Concat(asks[min(1, len(asks)):], w.boundaries(testbed.Replied, protocol[:len(protocol)-1]...), believing)
}

// kept are the spots after the grant, at which what was acknowledged just before can be
// lost or come back.
func (w World) kept() []spot {
	return slices.Concat(w.holding(), w.boundaries(testbed.Replied, testbed.StepRead, testbed.StepRelease))
}
