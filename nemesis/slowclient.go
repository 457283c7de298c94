package nemesis

import (
	"fmt"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Slow clients: pauses that prepare the ground for another fault, and the schedules that
// several faults make of them.

// Names of faults that others make use of, to prepare the ground.
const (
	clientPauseName = "client-pause"
	partitionName   = "partition"
)

// pause freezes the first of these clients of a line-up to get to a spot.
func (e *enumeration) pause(s spot, idea string, who []int, l lineup) Action {
	a := e.at(s, idea, who, l)
	a.Fault, a.Nodes = clientPauseName, nil
	return a
}

// slow freezes the first of these clients to get to a spot until another has the lock,
// for less than a lease.
func (e *enumeration) slow(s spot, who []int, l lineup) Action {
	a := e.pause(s, "is slow", who, l)
	a.Until, a.Limit = l.others(testbed.StepHold), e.TTL/2
	return a
}

// overruns freezes the next client that holds the lock once it was free, until another
// is about to touch what the lock guards.
func (e *enumeration) overruns(l lineup) Action {
	a := e.pause(beginning(testbed.StepHold), "overruns its lease", l.struck[0], l)
	a.Arm = l.anyone(testbed.StepRest)
	a.Until, a.Limit = l.others(testbed.StepTouch), e.outlast()
	return a
}

// robbed freezes, within its lease, the client that has the lock when the action of that
// number ends, by which another client released the lock late: until somebody else is
// about to touch, if the release let a third client in.
func (e *enumeration) robbed(late int) Action {
	return Action{
		Fault: clientPauseName, Idea: "is slow, when its lock was released by another", Client: history.NoClient,
		After: late, By: 2 * e.patience(), Point: trio.anyone(testbed.StepTouch),
		Until: trio.others(testbed.StepTouch), Limit: e.TTL / 2,
	}
}

// slowly strikes the nodes beneath a client that is slow to go on with its acquire, its
// work or its release: another has the lock by then.
func (e *enumeration) slowly(what, variant string, shape func(*Action)) {
	beneath := func(s spot, whom string, who []int, l lineup) Action {
		a := e.at(s, e.together().words+" "+what+" beneath a "+whom, who, l)
		a.Nodes = e.together().nodes
		shape(&a)
		return a
	}
	l := e.one()
	for _, s := range e.slowing() {
		who := l.struck[0][:1]
		slow := e.slow(s, who, l)
		slow.Linger = e.moment()
		e.plan(l, named(s, join(variant, "slow")), beneath(s, "slow client", who, l), slow)
	}
	touch, who := beginning(testbed.StepTouch), []int{0}
	e.plan(trio, named(touch, join(variant, "robbed")),
		beneath(touch, "client that releases late", who, trio), e.slow(touch, who, trio), e.robbed(2))
}

// rivals strike a client so that its lock can be taken over, and stall the first of two
// others half-way through the takeover, until the second has the lock. A calm trial does
// not show the commands of a takeover: they come after the last of those it shows.
func (e *enumeration) rivals(s spot, variant, idea string, shape func(*Action)) {
	calm := last(e.boundaries(testbed.Before, testbed.StepAcquire))
	if len(e.Nodes) > 1 || e.Claims.Recovery == 0 || len(calm) == 0 || calm[0].n < 2 {
		return
	}
	most := calm[0].n
	if e.KeyLife == 0 {
		most += 2
	}
	for n := 3; n <= most; n++ {
		struck := e.at(s, idea, []int{0}, trio)
		shape(&struck)
		halfway := spot{step: testbed.StepAcquire, node: e.Nodes[0], n: n, when: testbed.Before}
		stall := e.pause(halfway, "stalls half-way through taking over another's lock", []int{1, 2}, trio)
		stall.Arm = nil
		stall.Until, stall.Limit = trio.others(testbed.StepHold), e.retries()
		e.plan(trio, named(s, join(variant, fmt.Sprintf("rival-%d", n))), struck, stall)
	}
}

// crossed are schedules of three clients: the first is struck before its release until
// the second has an acquire half done, and the rest of that acquire is struck until the
// third has the lock. So the first removes what the second has begun to take.
func (e *enumeration) crossed(shape func(*Action)) {
	releases := last(e.releases())
	if len(e.Nodes) > 1 || len(releases) == 0 {
		return
	}
	for _, s := range e.later() {
		late := e.at(releases[0], "releases late, when another has its acquire half done", []int{1}, trio)
		late.Until = s.trigger([]int{0})
		rest := e.at(s, "goes on with its acquire when a third has the lock", []int{0}, trio)
		rest.Arm = beginning(testbed.StepRelease).trigger([]int{1})
		rest.Until, rest.Linger = beginning(testbed.StepHold).trigger([]int{2}), e.moment()
		for _, a := range []*Action{&late, &rest} {
			a.Limit = 2 * e.outlast()
			shape(a)
		}
		e.plan(lineup{name: twoDown.name, clients: trio.clients}, named(s, "crossed"), late, rest)
	}
}
