package nemesis

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// namedCrashes lets a client, or two, one after the other, die at each side of
// each command, and in each state of mind between them.
func namedCrashes(w World) []Schedule {
	e := w.enumerate("client-crash")
	for _, s := range slices.Concat(
		w.boundaries(testbed.Before), w.boundaries(testbed.Sent), w.boundaries(testbed.Replied),
		believing, w.reentry(testbed.Before), w.reentry(testbed.Replied),
	) {
		for _, l := range w.both() {
			e.add(l, s, "", "dies", func(a *Action) { a.Nodes = nil })
		}
	}
	for _, s := range append(begins(testbed.StepHold), w.later(testbed.Before)...) {
		if s.n <= 2 {
			e.rivals(s, "", "dies, with two rivals waiting", func(a *Action) { a.Nodes = nil })
		}
	}
	return e.all
}

// rivals strike a client so that its lock is there to be taken over, and stall
// the first of two others half-way through that, until the second has the lock.
// The commands of a takeover are none that a calm trial shows: they come after
// the last of those.
func (e *enumeration) rivals(s spot, variant, idea string, shape func(*Action)) {
	after := ends(e.boundaries(testbed.Before, testbed.StepAcquire))
	if len(e.Nodes) > 1 || e.Claims.Recovery == 0 || len(after) == 0 || after[0].n < 2 {
		return
	}
	last := after[0].n
	if e.KeyLife == 0 {
		last += 2
	}
	for n := 3; n <= last; n++ {
		struck := e.at(s, idea, []int{0}, trio)
		shape(&struck)
		halfWay := spot{place: place{testbed.StepAcquire, e.Nodes[0], n}, when: testbed.Before}
		stall := e.at(halfWay, "stalls half-way through taking over another's lock", []int{1, 2}, trio)
		stall.Fault, stall.Nodes, stall.Arm = clientPauseName, nil, nil
		stall.Until, stall.Limit = trio.others(testbed.StepHold), e.retries()
		e.plan(trio, named(s, join(variant, fmt.Sprintf("rival-%d", n))), struck, stall)
	}
}

// Names of faults that others make use of, to prepare the ground.
const (
	clientPauseName = "client-pause"
	partitionName   = "partition"
)

// stall freezes whoever of these comes to a spot until another has the lock, for
// less than a lease: it prepares the ground for another fault there.
func (e *enumeration) stall(s spot, who []int, l lineup) Action {
	a := e.at(s, "is slow", who, l)
	a.Fault, a.Nodes = clientPauseName, nil
	a.Until, a.Limit = l.others(testbed.StepHold), e.TTL/2
	return a
}

// moment is long enough that a command does not repeat, in the same millisecond,
// what another has just done.
func (w World) moment() time.Duration { return w.TTL / 100 }

// readable is how long a fault must last at least before "another has the lock"
// means something: a reader gets in beside a reader.
func (w World) readable() time.Duration {
	if w.Claims.ReadWrite {
		return w.TTL + w.TTL/10
	}
	return 0
}

// namedPauses freeze a client, or two, at each side of each command and in each
// state of mind: until another has the lock; where there is a belief at stake,
// until another is about to touch; within its lease, until another has had the
// lock; for a fixed time; until the lock is free again.
func namedPauses(w World) []Schedule {
	e := w.enumerate(clientPauseName)
	add := func(l lineup, s spot, variant, idea string, atLeast time.Duration, until *Trigger, limit time.Duration) {
		e.add(l, s, variant, idea, func(a *Action) {
			a.Nodes, a.For, a.Until, a.Limit = nil, atLeast, until, limit
		})
	}
	asks := slices.Concat(w.boundaries(testbed.Before), w.reentry(testbed.Before))
	everywhere := slices.Concat(asks, w.boundaries(testbed.Replied), believing, w.reentry(testbed.Replied))
	for _, s := range everywhere {
		for _, l := range w.both() {
			add(l, s, "", "freezes until another has the lock", w.readable(), l.others(testbed.StepHold),
				time.Duration(len(l.struck))*w.outlast())
		}
	}
	one := w.one()
	for _, s := range slices.Concat(w.granted(), believing, w.boundaries(testbed.Before, testbed.StepRelease)) {
		add(one, s, "touch", "freezes until another is about to touch", w.readable(), one.others(testbed.StepTouch), w.outlast())
	}
	for _, s := range slices.Concat(w.later(testbed.Before), w.granted()) {
		add(one, s, "within", "freezes within its lease until another has had the lock", 0, one.others(testbed.StepRest), w.TTL/2)
	}
	for _, s := range slices.Concat(asks, believing) {
		add(one, s, "long", "freezes for longer than the lease", w.outlast(), nil, 0)
	}
	for _, s := range asks {
		const idea = "freezes for longer than the lease, until the lock is free again"
		add(one, s, "free", idea, w.outlast(), one.others(testbed.StepRest), w.outlast()+w.TTL)
		e.writers(s, "free", idea, func(a *Action) {
			a.Nodes, a.For, a.Until, a.Limit = nil, w.outlast(), pair.others(testbed.StepRest), w.outlast()+w.TTL
		})
	}
	e.crossed(func(a *Action) {})
	return e.all
}

// crossed are schedules of three clients: the first is struck before its release
// until the second has an acquire half done, whose rest is struck until the third
// has the lock. So the first removes what the second has begun to take.
func (e *enumeration) crossed(how func(*Action)) {
	releases := ends(e.boundaries(testbed.Before, testbed.StepRelease))
	if len(e.Nodes) > 1 || len(releases) == 0 {
		return
	}
	for _, s := range e.later(testbed.Before) {
		first := e.at(releases[0], "releases late, when another has its acquire half done", []int{1}, trio)
		first.Until = &Trigger{Clients: []int{0}, Step: s.step, Node: s.node, N: s.n, When: s.when}
		second := e.at(s, "goes on with its acquire when a third has the lock", []int{0}, trio)
		second.Arm = &Trigger{Clients: []int{1}, Step: testbed.StepRelease}
		second.Until, second.Linger = &Trigger{Clients: []int{2}, Step: testbed.StepHold}, e.moment()
		for _, a := range []*Action{&first, &second} {
			a.Limit = 2 * e.outlast()
			how(a)
		}
		if first.Fault == clientPauseName {
			first.Nodes, second.Nodes = nil, nil
		}
		e.plan(lineup{name: twoDown.name, clients: trio.clients}, named(s, "crossed"), first, second)
	}
}

// namedSkews set a client's clock wrong at the beginning of each step, and
// before each command, by when its clock may have been read: ahead and behind,
// by more than any life of the lock.
func namedSkews(w World) []Schedule {
	e := w.enumerate("client-skew")
	far := w.far()
	ways := []struct {
		name   string
		offset time.Duration
	}{{"forward", far}, {"back", -far}, {"ahead", w.TTL / 10}, {"behind", -w.TTL / 10}}
	for _, s := range slices.Concat(begins(testbed.StepAcquire), w.boundaries(testbed.Before), believing) {
		for i, way := range ways {
			if i >= 2 && s.n > 0 {
				continue // a little off is the same at every command
			}
			lineups := []lineup{w.one()}
			if s.n == 0 && i < 2 {
				lineups = w.both()
			}
			for _, l := range lineups {
				e.add(l, s, way.name, "its clock is set "+way.name, func(a *Action) {
					a.Nodes, a.Offset, a.For = nil, way.offset, w.TTL+w.TTL/2
				})
			}
		}
	}
	for _, s := range begins(testbed.StepAcquire) {
		e.rivals(s, "back", "its clock is set back, with two rivals waiting", func(a *Action) {
			a.Nodes, a.Offset, a.For = nil, -far, w.TTL+w.TTL/2
		})
	}
	e.slowClocks()
	return e.all
}

// slowClocks set the clock of a client back that is slow at the same place: it
// looks at its deadline when it is over, and the clock does not say so. Only
// where leases have a deadline does this show anything of clocks.
func (e *enumeration) slowClocks() {
	if !e.Deadlines {
		return
	}
	l := e.one()
	for _, s := range slices.Concat(e.boundaries(testbed.Before, testbed.StepAcquire), e.granted(), believing) {
		slow := e.stall(s, l.struck[0][:1], l)
		slow.For, slow.Until, slow.Limit = e.TTL, l.others(testbed.StepTouch), e.outlast()
		back := e.at(s, "its clock is set back while it is slow", l.struck[0][:1], l)
		back.Nodes, back.Offset, back.For = nil, -e.far(), e.outlast()+e.TTL
		e.plan(l, named(s, "back.slow"), back, slow)
	}
}
