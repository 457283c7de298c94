package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Run measures all locks on a testbed, one trial at a time, so that no trial slows another down.
// After each trial it calls progress (may be nil) with the number of finished trials and the number
// of all trials. The error is the harness's, or an input.Error if the configuration is invalid or
// the testbed does not have the nodes that a lock needs.
func Run(ctx context.Context, tb testbed.Testbed, c Config, progress func(done, all int)) (Report, error) {
	if err := c.check(); err != nil {
		return Report{}, err
	}
	recipes := append([]locks.Recipe{c.Baseline}, slices.DeleteFunc(slices.Clone(c.Locks), func(r locks.Recipe) bool { return r.ID == c.Baseline.ID })...)
	plans, total := make([][]planned, len(recipes)), 0
	for i, r := range recipes {
		var err error
		if plans[i], err = c.plan(ctx, tb, r); err != nil {
			return Report{}, err
		}
		total += len(plans[i])
	}
	rep := Report{
		Schema: 1, Testbed: c.Testbed, Virtual: !trial.RealTime(tb), Seed: c.Seed, Clients: c.Clients, TTL: c.TTL,
		Duration: c.Duration, Baseline: c.Baseline.ID, Measures: Measures(),
	}
	started, subjects := time.Now(), make([]subject, len(recipes))
	for i := range subjects {
		subjects[i] = subject{tb: tb, speed: &rep.Speed}
	}
	// The locks take turns: if the machine is busier for a while, this affects the same trial of
	// all locks.
	for n := range total {
		of, at := n%len(recipes), n/len(recipes)
		if err := subjects[of].run(ctx, plans[of][at]); err != nil {
			return Report{}, err
		}
		if n == len(recipes)-1 && !rep.Virtual { // all locks have run their trial with one client
			var err error
			if rep.Drift, err = subjects[0].drift(ctx, plans[0][0]); err != nil {
				return Report{}, err
			}
		}
		if progress != nil {
			progress(n+1, total)
		}
	}
	for i, m := range subjects {
		rep.Locks = append(rep.Locks, m.lock(plans[i][0].spec))
	}
	rep.Speed.Elapsed = time.Since(started)
	compare(rep.Locks, rep.Baseline)
	return rep, nil
}

// subject is a lock under measurement, with what its trials have shown so far.
type subject struct {
	tb        testbed.Testbed
	speed     *Speed
	costs     costs
	violated  []string
	undecided []string
	stalled   int
}

// run runs a trial, judges and measures it. If the lock broke down, or no client could acquire it,
// some figures have no value; that is no error. The error is the harness's.
func (m *subject) run(ctx context.Context, p planned) error {
	began := time.Now()
	e, err := trial.Run(ctx, m.tb, p.spec, history.NewRecorder(nil, m.tb.Clock()), nil)
	if err != nil {
		return fmt.Errorf("measure %s: %w", p.spec.Lock, err)
	}
	ran := time.Now()
	verdicts, err := checker.NewCase(e).Judge(ctx)
	if err != nil {
		return fmt.Errorf("judge %s: %w", p.spec.Lock, err)
	}
	judged := time.Now()
	if err := m.costs.add(p.contended, e); err != nil {
		return fmt.Errorf("measure %s: %w", p.spec.Lock, err)
	}
	if _, spoilt := checker.Stalled(e); spoilt {
		m.stalled++
	}
	m.note(verdicts)
	m.speed.add(e, ran.Sub(began), judged.Sub(ran), time.Since(judged))
	return nil
}

// drift runs the baseline's trial with one client again. It returns the new median acquire time
// divided by the first one; nil if one of them is unknown.
func (m *subject) drift(ctx context.Context, p planned) (*float64, error) {
	again := subject{tb: m.tb, speed: m.speed}
	if err := again.run(ctx, p); err != nil {
		return nil, err
	}
	before, after := latencyOf(acquires, 0.5)(m.costs), latencyOf(acquires, 0.5)(again.costs)
	if before.Value == nil || after.Value == nil || *before.Value == 0 {
		return nil, nil
	}
	ratio := *after.Value / *before.Value
	return &ratio, nil
}

// note keeps the names of the oracles that a trial violated or left undecided.
func (m *subject) note(verdicts []checker.Verdict) {
	for _, v := range verdicts {
		if checker.OracleNamed(v.Oracle).OfProgram {
			continue
		}
		switch v.Result {
		case checker.Violated:
			m.violated = insert(m.violated, v.Oracle)
		case checker.Unknown:
			m.undecided = insert(m.undecided, v.Oracle)
		}
	}
}

// insert appends a name unless names already has it.
func insert(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// add counts a trial, its commands, and the time that it took to run, judge and measure the trial.
func (s *Speed) add(e history.Evidence, running, judging, measuring time.Duration) {
	s.Trials++
	s.Commands += len(e.Commands)
	if n := len(e.Ops); n > 0 {
		s.Virtual += e.Ops[n-1].Time
	}
	s.Running += running
	s.Judging += judging
	s.Measuring += measuring
}

// lock returns the measured figures; spec is the spec of any of the lock's trials.
func (m *subject) lock(spec trial.Spec) Lock {
	return Lock{
		Lock: spec.Lock, Topology: spec.Topology, Nodes: max(1, spec.Nodes), Workload: spec.Workload,
		Acquires: len(m.costs.acquires), Waits: len(m.costs.contended.Waits),
		Figures: m.costs.figures(), Violated: m.violated, Undecided: m.undecided, Stalled: m.stalled,
	}
}
