package campaign

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// source returns the trials that run next, after what the earlier ones showed; none if it is exhausted.
type source func(cells []plannedCell) ([]job, error)

// exhaust runs the trials of each source in turn, until ctx ends or the campaign fails.
func (r *run) exhaust(ctx context.Context, cells []plannedCell, sources ...source) error {
	for _, next := range sources {
		for ctx.Err() == nil && !r.failed() {
			jobs, err := next(cells)
			if err != nil {
				return err
			}
			if len(jobs) == 0 {
				break
			}
			r.info.Plan = planned(cells)
			if err := r.saveInfo(); err != nil {
				return err
			}
			r.progress.Total = r.progress.Done + len(jobs)
			r.runAll(ctx, r.sampling(r.progress.Total).mark(jobs))
		}
	}
	return nil
}

// jobs returns the trials of all cells except those that ran as probes: named trials first, then
// drawn ones; of each kind the first of every cell and workload, then the second, and so on, which
// fills the matrix evenly. It removes from a cell the workloads in which the fault cannot strike. A
// cell without workloads is not supported.
func (p *planner) jobs(cells []plannedCell) ([]job, error) {
	if p.confirm != nil {
		return p.confirm.jobs(p, cells), nil
	}
	var named, drawn [][]trial.Spec
	for i := range cells {
		c := &cells[i]
		if err := p.strikes(c); err != nil {
			return nil, err
		}
		more, err := p.named(c)
		if err != nil {
			return nil, err
		}
		named = append(named, more...)
		if more, err = p.drawn(c); err != nil {
			return nil, err
		}
		drawn = append(drawn, more...)
	}
	jobs := append(inTurn(named), inTurn(drawn)...)
	return jobs, p.corpus.complete(p, cells, jobs)
}

// inTurn returns the first trial of each list, then the second of each, and so on. It leaves out empty
// specs.
func inTurn(lists [][]trial.Spec) (jobs []job) {
	for k, more := 0, true; more; k++ {
		more = false
		for _, specs := range lists {
			if k >= len(specs) {
				continue
			}
			if more = true; specs[k].Lock != "" {
				jobs = append(jobs, job{spec: specs[k]})
			}
		}
	}
	return jobs
}

// strikes removes from a cell the workloads in which the fault cannot strike.
func (p *planner) strikes(c *plannedCell) error {
	for _, w := range slices.Clone(c.workloads) {
		if !p.probed(*c, w) {
			continue
		}
		s, world, err := p.trial(*c, w, 0)
		switch lack, ok := errors.AsType[*nemesis.Unsupported](err); {
		case ok:
			c.drop(w, lack)
		case err != nil:
			return err
		default:
			c.variants = max(c.variants, len(c.fault.Plans(world, rand.New(rand.NewPCG(s.Seed, 0)))))
		}
	}
	return nil
}

// probed says whether the probe of a cell's workload has finished; if it failed, that has already
// been reported.
func (p *planner) probed(c plannedCell, workload string) bool {
	_, ok := p.seen[pair{c.recipe.ID, workload}]
	return ok
}

// drawn returns the cell's trials that depend on a seed, a list for each workload. It leaves out
// those that ran as probes.
func (p *planner) drawn(c *plannedCell) (lists [][]trial.Spec, err error) {
	for i, w := range c.workloads {
		if !p.probed(*c, w) {
			continue
		}
		specs, err := p.remembered(c, w)
		if err != nil {
			return nil, err
		}
		ks := slices.DeleteFunc(p.numbers(*c, i), func(k int) bool { // the corpus has some trials of this seed
			return slices.ContainsFunc(specs, func(s trial.Spec) bool { return s.DrawnFrom == p.config.Seed && s.Trial == k })
		})
		if c.fault.Undisturbed && (len(ks) > 0 || p.corpus != nil) && !slices.Contains(ks, 0) {
			ks = append(ks, 0) // the probe
		}
		for _, k := range ks {
			c.own++
			if c.fault.Undisturbed && k == 0 {
				specs = append(specs, trial.Spec{}) // its turn has passed
				continue
			}
			s, _, err := p.trial(*c, w, k)
			if err != nil {
				return nil, err
			}
			specs = append(specs, s)
		}
		lists = append(lists, specs)
	}
	return lists, nil
}
