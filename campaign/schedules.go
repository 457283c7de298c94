package campaign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Named trials are enumerated, not drawn: each strikes at one place of the protocol that a recipe's
// probe showed. Named trials and their probes do not depend on the campaign's seed.

// named returns the cell's named trials that the campaign runs, a list for each workload.
func (p *planner) named(c *plannedCell) (lists [][]trial.Spec, err error) {
	if !p.config.Named && p.corpus == nil {
		return nil, nil
	}
	if lists, err = p.allNamed(*c); err != nil {
		return nil, err
	}
	if p.corpus != nil {
		if lists, err = p.selected(c, lists); err != nil {
			return nil, err
		}
	}
	for _, specs := range lists {
		c.named += len(specs)
	}
	if p.config.NamedOnly && c.named == 0 && c.lack == nil && !c.fault.Undisturbed {
		c.workloads, c.lack = nil, &nemesis.Unsupported{Why: nemesis.NoSchedules}
	}
	return lists, nil
}

// allNamed returns all named trials of a cell, a list for each workload.
func (p *planner) allNamed(c plannedCell) (lists [][]trial.Spec, err error) {
	for _, w := range c.workloads {
		if !p.probed(c, w) {
			continue
		}
		specs, err := p.schedules(c, w)
		if err != nil {
			return nil, err
		}
		lists = append(lists, specs)
	}
	return lists, nil
}

// schedules returns the named trials of a cell under a workload.
func (p *planner) schedules(c plannedCell, workload string) ([]trial.Spec, error) {
	s := p.spec(c, workload, 0)
	claims := s.PromisedBy(c.recipe)
	world := p.world(s, claims)
	all, err := p.schedule(s.Fault, world)
	switch {
	case errors.Is(err, nemesis.ErrNotSupported):
		return nil, nil // nothing to enumerate; drawn trials may find something
	case err != nil:
		return nil, fmt.Errorf("name schedules for %s under %s (%s): %w", s.Lock, s.Fault, workload, err)
	}
	swept, err := nemesis.Sweep(s.Fault, world, p.config.Sweep)
	switch {
	case errors.Is(err, nemesis.ErrNotSupported): // nothing to sweep
	case err != nil:
		return nil, fmt.Errorf("plan a sweep of %s under %s (%s): %w", s.Lock, s.Fault, workload, err)
	}
	all = slices.Concat(all, swept)
	specs := make([]trial.Spec, 0, len(all))
	for k, n := range all {
		t := s
		t.Schedule, t.Trial, t.Size = n.Name, k, n.Size
		t.Seed = scheduleSeed(t.Lock, t.Fault, workload, n.Name)
		t.Plan, t.Durability = n.Plan, n.Plan.Durability()
		t.Options.Seed, t.Options.Clients, t.Options.Writers = t.Seed, n.Clients, n.Writers
		t.Options.Duration = max(n.Plan.Length(world), leastNamed*t.Options.TTL) + p.config.patient()
		if p.config.Overrun < 0 {
			t.Options.Overrun = overrun(world, n.Plan)
		}
		specs = append(specs, t)
	}
	return specs, nil
}

// leastNamed is the minimum length of the disturbed part of a trial with a named schedule, in lease
// times. It leaves time for a client to reach the schedule's spot, and for the fault's effects, which last
// about one lease.
const leastNamed = 3

// overrun returns the share of a named trial's critical sections that outlast their lease, from 0 to 1.
// Sections outlast their lease in two cases:
//
//   - The recipe renews. Only a long section has a renewal for a fault to strike.
//   - Leases claim a deadline, and the fault does not strike a release. Clients check the deadline before
//     they touch the resource, so long sections are allowed. They reveal deadlines that are too late.
func overrun(w nemesis.World, p nemesis.Plan) float64 {
	switch {
	case w.Claims.Renews && strikesInside(p):
		return 1
	case w.Claims.Renews:
		return 0.25
	case w.Deadlines && !strikesRelease(p):
		return 0.5
	}
	return 0
}

// strikesRelease reports whether a plan's first action strikes at a release. There, the client must
// still hold the lock, so its section must not outlast the lease.
func strikesRelease(p nemesis.Plan) bool {
	return len(p) > 0 && p[0].Point != nil && p[0].Point.Step == testbed.StepRelease
}

// strikesInside says whether an action of the plan waits for a point in a critical section.
func strikesInside(p nemesis.Plan) bool {
	inside := []string{testbed.StepHold, testbed.StepRead, testbed.StepTouch}
	return slices.ContainsFunc(p, func(a nemesis.Action) bool { return a.Point != nil && slices.Contains(inside, a.Point.Step) })
}
