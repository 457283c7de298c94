package nemesis

import (
	"fmt"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// This file holds pauses that prepare for another fault, and schedules with such pauses that
// several faults share.

// Names of faults that other faults use as preparation.
const (
	clientPauseName = "client-pause"
	partitionName   = "partition"
)

// pause returns an action that freezes one of the given clients: the first to reach the spot.
func (e *enumeration) pause(s spot, idea string, who []int, l lineup) Action {
	a := e.at(s, idea, who, l)
	a.Fault, a.Nodes = clientPauseName, nil
	return a
}

// slow returns an action that freezes one of the given clients, the first to reach the spot, until
// another client has the lock, but for less than a lease.
func (e *enumeration) slow(s spot, who []int, l lineup) Action {
	a := e.pause(s, "is slow", who, l)
	a.Until, a.Limit = l.others(testbed.StepHold), e.TTL/2
	return a
}

// overrunLease returns an action that freezes the next client to get the lock after some client
// has released it. The freeze ends when another client is about to touch the resource.
func (e *enumeration) overrunLease(l lineup) Action {
	a := e.pause(beginning(testbed.StepHold), "overruns its lease", l.struck[0], l)
	a.Arm = l.anyone(testbed.StepRest)
	a.Until, a.Limit = l.others(testbed.StepTouch), e.outlast()
	return a
}

// robbed returns an action that freezes a holder within its lease. The freeze begins after another
// client's late release, that is, after the end of the action whose ID is given. That release lets a
// third client in; the freeze ends when another client is about to touch the resource.
func (e *enumeration) robbed(late int) Action {
	return Action{
		Fault: clientPauseName, Idea: "is slow, when its lock was released by another", Client: history.NoClient,
		After: late, By: 2 * e.spotTimeout(), Point: trio.anyone(testbed.StepTouch),
		Until: trio.others(testbed.StepTouch), Limit: e.TTL / 2,
	}
}

// slowly adds schedules that strike nodes while one client is frozen in its acquire, its critical
// section or its release. That client goes on when another client has the lock. In one more schedule
// the next holder then freezes too: see robbed.
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
		e.plan(l, scheduleName(s, join(variant, "slow")), beneath(s, "slow client", who, l), slow)
	}
	touch, who := beginning(testbed.StepTouch), []int{0}
	e.plan(trio, scheduleName(touch, join(variant, "robbed")),
		beneath(touch, "client that releases late", who, trio), e.slow(touch, who, trio), e.robbed(2))
}

// rivals adds schedules that strike a client so that another client can take over its lock. Two
// other clients compete for the takeover: the first stalls half-way through it until the second has
// the lock. The stall comes before the third or a later command of an acquire. If the recipe's keys
// never expire, a takeover sends more commands than the probe trial shows. Then the stall may also
// come before either of the two commands after the probe's last one.
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
		e.plan(trio, scheduleName(s, join(variant, fmt.Sprintf("rival-%d", n))), struck, stall)
	}
}

// crossed adds schedules with three clients. The first is struck before its release until the
// second is half-way through an acquire. The second is then struck until the third has the lock.
// So the first client's release removes the keys of the second client's unfinished acquire.
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
		e.plan(lineup{name: twoDown.name, clients: trio.clients}, scheduleName(s, "crossed"), late, rest)
	}
}
