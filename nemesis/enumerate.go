package nemesis

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// lineup is who takes part in a schedule and who of them is struck.
type lineup struct {
	name    string // "1of2": one of two clients is struck
	clients int
	// struck lists, for each action at the place, who may be the one it strikes.
	struck [][]int
}

// Line-ups. Of two that are struck each has its own action, and the third looks on.
var (
	alone   = lineup{"1of1", 1, [][]int{{0}}}
	pair    = lineup{"1of2", 2, [][]int{{0, 1}}}
	trio    = lineup{"1of3", 3, [][]int{{0, 1, 2}}}
	twoDown = lineup{"2of3", 3, [][]int{{0}, {1}}}
)

// one is the line-up in which one client is struck, with as few others as can
// show what comes of it: beside a reader it takes a reader and a writer.
func (w World) one() lineup {
	if w.Claims.ReadWrite {
		return trio
	}
	return pair
}

// both are one and two clients that are struck.
func (w World) both() []lineup { return []lineup{w.one(), twoDown} }

// lineups are one and two clients struck of several, and one alone: but for those
// commands of an acquire that only a client sends who has to wait.
func (w World) lineups(s spot) []lineup {
	if s.step == testbed.StepAcquire && s.n > 2 {
		return w.both()
	}
	return append(w.both(), alone)
}

// others is the trigger of any client that is not struck, at the beginning of a
// step.
func (l lineup) others(step string) *Trigger {
	t := &Trigger{Step: step}
	if len(l.struck) == 1 {
		t.Clients, t.Who = clientsTo(l.clients), Other
		return t
	}
	t.Clients = clientsTo(l.clients)[len(l.struck):]
	return t
}

// itself is the trigger of the struck client.
func (l lineup) itself(step string) *Trigger {
	return &Trigger{Clients: clientsTo(l.clients), Who: Same, Step: step}
}

func clientsTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// spot is a place in the protocol at which a schedule strikes: a command's, or,
// with n = 0, the beginning of a step.
type spot struct {
	place
	when testbed.When
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

// begins are the beginnings of steps.
func begins(steps ...string) []spot {
	var all []spot
	for _, s := range steps {
		all = append(all, spot{place: place{step: s}})
	}
	return all
}

// believing are the steps in which a client believes that it holds the lock and
// at whose beginnings it sends nothing.
var believing = begins(testbed.StepHold, testbed.StepRead, testbed.StepTouch)

// most is how many commands of a step schedules tell apart. What comes after
// them in one attempt comes again and again: a watchdog's renewals, a waiting
// client's next look.
var most = map[string]int{
	testbed.StepAcquire: 4, testbed.StepRelease: 3,
	testbed.StepHold: 2, testbed.StepRead: 2, testbed.StepTouch: 2,
}

// protocol is the order of steps in one critical section.
var protocol = []string{testbed.StepAcquire, testbed.StepHold, testbed.StepRead, testbed.StepTouch, testbed.StepRelease}

// boundaries are the sides of commands that World.Points shows, in the
// protocol's order; of these steps only, if there are any. Of independent nodes,
// which are all alike, the first, the one that makes the quorum and the last
// stand for all; the second command of an acquire is the clean-up of one that
// failed.
func (w World) boundaries(when testbed.When, steps ...string) []spot {
	if len(steps) == 0 {
		steps = protocol
	}
	var all []spot
	for _, p := range w.Points {
		if p.When == when && p.N > 0 && slices.Contains(steps, p.Step) && w.telling(p) {
			all = append(all, spot{place: place{p.Step, p.Node, p.N}, when: when})
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

// quorum is how many nodes must grant.
func (w World) quorum() int { return min(max(1, w.Claims.Quorum), len(w.Nodes)) }

// first is the first of these spots, as they come in order.
func first(spots []spot) []spot { return spots[:min(1, len(spots))] }

// ends are the last of these steps' spots, as they come in order.
func ends(spots []spot) []spot { return spots[max(0, len(spots)-1):] }

// later are the commands of an acquire before which it is half done.
func (w World) later(when testbed.When) []spot {
	all := w.boundaries(when, testbed.StepAcquire)
	return slices.DeleteFunc(all, func(s spot) bool {
		if len(w.Nodes) == 1 {
			return s.n == 1
		}
		return s.node == w.Nodes[0]
	})
}

// granted is the reply that completes an acquire: of those that the probe saw
// the last, or all of those if there are several ways to get there.
func (w World) granted() []spot {
	all := w.boundaries(testbed.Replied, testbed.StepAcquire)
	if len(w.Nodes) > 1 {
		return ends(all)
	}
	return all
}

// reentry are the sides of the command with which a holder acquires again, for
// recipes that let it.
func (w World) reentry(when testbed.When) []spot {
	if !w.Claims.Reentrant {
		return nil
	}
	all := w.boundaries(when, testbed.StepAcquire)
	all = first(all)
	for i := range all {
		all[i].inner = true
	}
	return all
}

// enumeration collects a fault's schedules.
type enumeration struct {
	World
	fault string
	all   []Schedule
}

// enumerate starts the schedules of a fault.
func (w World) enumerate(fault string) *enumeration { return &enumeration{World: w, fault: fault} }

// settled is when clients have come into their stride: scripts are loaded, each
// has had a turn.
func (w World) settled() time.Duration { return w.TTL / 2 }

// patience is how long a schedule waits for its places.
func (w World) patience() time.Duration { return 5 * (w.lease() + w.TTL) }

// at starts an action of the enumeration's fault at a spot for some clients. An
// acquire's first command counts once the lock is free.
func (e *enumeration) at(s spot, idea string, who []int, l lineup) Action {
	a := Action{
		Fault: e.fault, Idea: idea, Client: history.NoClient, At: e.settled(), By: e.patience(),
		Point: &Trigger{Clients: who, Step: s.step, Node: s.node, N: s.n, When: s.when},
		Nodes: []string{s.node},
	}
	if s.n == 0 {
		a.Nodes = e.Nodes[:1]
	}
	switch {
	case s.inner:
		a.Point.Clients = who[:1]
		a.Arm = &Trigger{Clients: who[:1], Step: testbed.StepHold}
	case s.step == testbed.StepAcquire && s.n > 0:
		a.Arm = &Trigger{Clients: clientsTo(l.clients), Step: testbed.StepRest}
	}
	return a
}

// add is a schedule that does one thing at one spot to each struck client.
// Variant, which may be empty, tells it from others at that spot.
func (e *enumeration) add(l lineup, s spot, variant, idea string, shape func(*Action)) {
	var p Plan
	for _, who := range l.struck {
		a := e.at(s, idea, who, l)
		shape(&a)
		p = append(p, a)
	}
	e.plan(l, named(s, variant), p...)
}

// writers adds to the schedules of a read-write lock one in which a client that
// writes is struck, and so does whoever comes next: which of them read and which
// write is else a matter of chance.
func (e *enumeration) writers(s spot, variant, idea string, shape func(*Action)) {
	if !e.Claims.ReadWrite {
		return
	}
	e.add(pair, s, join(variant, "writers"), idea, shape)
	e.all[len(e.all)-1].Writers = true
}

// named joins a spot's name with a variant's.
func named(s spot, variant string) string {
	if variant == "" {
		return s.String()
	}
	return s.String() + "." + variant
}

// plan is a schedule of these actions, which have no IDs yet.
func (e *enumeration) plan(l lineup, name string, actions ...Action) {
	for i := range actions {
		actions[i].ID = i + 1
	}
	e.all = append(e.all, Schedule{Name: name + "-" + l.name, Clients: l.clients, Plan: actions})
}
