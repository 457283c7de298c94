package campaign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

// Campaign is a comparison that is ready to run.
type Campaign struct {
	Config Config
	// Command is the command line, for the record.
	Command  string
	Versions Versions
	Testbed  testbed.Testbed
	// Worker is the command line of a program that calls ServeWorker on such a
	// testbed: Config.Parallel of them run the trials. Nil = trials run in this
	// process, which a panic in a goroutine of the code under test ends.
	Worker []string
	// Defaults of this testbed, for what Config leaves at 0.
	Defaults Defaults
	// NewSink makes what receives the results, for the campaign's directory;
	// nil = nobody does.
	NewSink func(dir string) (Sink, error)
	// Progress is called after each trial, one call at a time; may be nil.
	Progress func(Progress)
}

// Run plans the campaign, runs its trials, judges and stores them, and returns
// what was found. If ctx ends, no trial is started any more, those under way are
// torn down, and what is finished is stored and returned with
// Matrix.Interrupted, without an error. A trial that fails is part of the result
// (Matrix.Failed), not an error. An InputError says that nothing was run.
func (c Campaign) Run(ctx context.Context) (Stored, error) {
	if err := c.Config.check(); err != nil {
		return Stored{}, err
	}
	p := &planner{config: c.Config, topologies: c.Testbed.Topologies(), capabilities: c.Testbed.Capabilities(), points: map[pair][]testbed.Point{}}
	cells, err := p.cells()
	if err != nil {
		return Stored{}, err
	}
	if err := testsSomething(cells); err != nil {
		return Stored{}, err
	}
	started := time.Now()
	st, err := createStore(c.Config.Store, c.Config.Name, started)
	if err != nil {
		return Stored{}, err
	}
	r := &run{Campaign: c, store: st, planner: p, entrance: newEntrance(c.Config.Parallel), info: Info{
		Config: c.Config, Command: c.Command, Versions: c.Versions, Started: started.UTC(), Plan: planned(cells),
	}}
	err = r.all(ctx, cells)
	if cerr := st.close(); err == nil {
		err = cerr
	}
	return r.result, err
}

// run is a campaign under way.
type run struct {
	Campaign
	store    *store
	planner  *planner
	info     Info
	sink     Sink
	result   Stored
	entrance *entrance

	mu       sync.Mutex // judging: one trial at a time, so that running trials keep a core
	trials   []Trial
	spoilt   []spoilt // in this round
	progress Progress
	err      error // the first of storing or of the sink
}

// all runs probes, then everything else, and folds what was found.
func (r *run) all(ctx context.Context, cells []plannedCell) error {
	if err := r.saveInfo(); err != nil {
		return err
	}
	if r.NewSink != nil {
		sink, err := r.NewSink(r.store.dir)
		if err != nil {
			return fmt.Errorf("open the reports: %w", err)
		}
		r.sink = sink
	}
	probes, err := r.planner.probes(cells)
	if err != nil {
		return err
	}
	r.progress.Total = len(probes)
	for _, c := range cells {
		if n := r.Config.Trials * len(c.workloads); c.fault.Name != undisturbed {
			r.progress.Total += n
		} else {
			r.progress.Total += n - len(c.workloads)
		}
	}
	r.rounds(ctx, probes)
	jobs, err := r.planner.jobs(cells)
	if err != nil {
		return err
	}
	// Only now is it known where a fault has nothing to strike.
	if err := testsSomething(cells); err != nil {
		return errors.Join(err, r.store.discard())
	}
	if err := r.store.publish(); err != nil {
		return err
	}
	r.info.Plan = planned(cells)
	if err := r.saveInfo(); err != nil {
		return err
	}
	r.progress.Total = len(probes) + len(jobs)
	r.rounds(ctx, jobs)
	return r.finish(ctx)
}

func (r *run) saveInfo() error { return writeJSON(filepath.Join(r.store.dir, CampaignFile), r.info) }

// pool runs jobs, in their order, parallel at a time, until ctx ends.
func (r *run) pool(ctx context.Context, jobs []job, parallel int) {
	queue := make(chan job)
	var workers sync.WaitGroup
	for range min(parallel, len(jobs)) {
		workers.Go(func() {
			for j := range queue {
				r.trial(ctx, j)
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil || r.failed() {
			break
		}
		select {
		case queue <- j:
		case <-ctx.Done():
		}
	}
	close(queue)
	workers.Wait()
}

// failed says whether results can no longer be stored.
func (r *run) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// trial runs one trial, streaming it to its folder, and has it judged.
func (r *run) trial(ctx context.Context, j job) {
	if ctx.Err() != nil {
		return
	}
	enter, err := r.entrance.wait(ctx, r.Testbed, j.spec)
	if err != nil {
		return
	}
	defer enter.exit()
	defer enter.leave()
	started := time.Now()
	t := Trial{Spec: j.spec, Probe: j.probe, Again: j.again}
	recipe, _ := locks.ByID(j.spec.Lock)
	f, err := r.store.folder(storedSpec{Spec: j.spec, Claims: j.spec.claims(recipe)})
	if err != nil {
		r.fail(err)
		return
	}
	j.spec.Logs = filepath.Join(f.path, "logs")
	rec := history.NewRecorder(f.history, func() time.Duration { return time.Since(started) })
	e, err := RunTrial(ctx, enter, j.spec, rec, f.command)
	if cerr := f.close(); err == nil {
		err = cerr
	}
	t.Elapsed = time.Since(started)
	if ctx.Err() != nil {
		return // interrupted: what it wrote so far stays, but is no result
	}
	r.judge(ctx, t, j, f, e, err)
}

// fail keeps the first error that makes going on senseless.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// judge asks the oracles about a finished trial, stores the answer and passes
// it on. The history is on disk before. A trial that the machine spoilt is set
// aside instead.
func (r *run) judge(ctx context.Context, t Trial, j job, f *folder, e history.Evidence, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	recipe, _ := locks.ByID(j.spec.Lock)
	if err == nil {
		t, err = judge(ctx, t, recipe.Flaws, e)
		if ctx.Err() != nil {
			return // not judged in full
		}
	}
	switch {
	case errors.Is(err, nemesis.ErrNotSupported):
		t.Why, t.Outcome = err.Error(), NotSupported // seen only in the running world
	case err != nil:
		t.Err, t.Outcome = err.Error(), Unknown
	case t.Probe:
		r.planner.points[pair{t.Spec.Lock, t.Spec.Workload}] = nemesis.Points(e.Commands)
	}
	if _, stalled := checker.Stalled(e); stalled && err == nil && t.Outcome == Unknown && j.again < retries {
		r.spoilt = append(r.spoilt, spoilt{job: j, trial: t, folder: f})
		return
	}
	r.record(ctx, t, f, e)
}

// record stores a judged trial and counts it. The caller holds mu.
func (r *run) record(ctx context.Context, t Trial, f *folder, e history.Evidence) {
	if err := r.keep(ctx, &t, f, e); err != nil && r.err == nil {
		r.err = err
	}
	r.trials = append(r.trials, t)
	r.progress.Done++
	if t.Violation() {
		r.progress.Violations++
	}
	if t.Err != "" {
		r.progress.Failed++
	}
	if r.Progress != nil {
		r.Progress(r.progress)
	}
}

// keep stores a judged trial: its line, its folder if there is something to see
// in it, and what the sink makes of it.
func (r *run) keep(ctx context.Context, t *Trial, f *folder, e history.Evidence) error {
	if r.Config.Keep || t.Violation() || t.Outcome == Unknown {
		t.Dir = f.dir
		if err := writeJSON(filepath.Join(f.path, VerdictFile), verdictOf(*t)); err != nil {
			return err
		}
	} else if err := f.remove(); err != nil {
		return err
	}
	if err := r.store.add(*t); err != nil {
		return err
	}
	if r.sink == nil {
		return nil
	}
	if err := r.sink.Trial(ctx, *t, e); err != nil {
		return fmt.Errorf("report %s: %w", f.dir, err)
	}
	return nil
}

// finish folds the trials, and stores and reports the matrix.
func (r *run) finish(ctx context.Context) error {
	r.result = Stored{Dir: r.store.dir, Info: r.info, Trials: r.trials}
	r.result.Matrix = fold(r.info, r.store.dir, r.trials)
	r.result.Matrix.Interrupted = ctx.Err() != nil
	if err := writeJSON(filepath.Join(r.store.dir, MatrixFile), r.result.Matrix); err != nil {
		return err
	}
	if r.sink != nil {
		// An interrupted campaign is reported too.
		if err := r.sink.Done(context.WithoutCancel(ctx), r.result.Matrix); err != nil {
			return fmt.Errorf("report the campaign: %w", err)
		}
	}
	return r.err
}

// verdictFile is verdict.json.
type verdictFile struct {
	Outcome  Outcome           `json:"outcome"`
	Kind     locks.Kind        `json:"kind"`
	Flaws    []Flaw            `json:"flaws"`
	Verdicts []checker.Verdict `json:"verdicts"`
	Hits     int               `json:"hits"`
	// Of the files that were judged.
	Ops      int    `json:"ops"`
	Commands int    `json:"commands"`
	Hash     string `json:"hash,omitempty"`
	Err      string `json:"error,omitempty"`
}

func verdictOf(t Trial) verdictFile {
	return verdictFile{Outcome: t.Outcome, Kind: t.Kind, Flaws: t.Flaws, Verdicts: t.Verdicts, Hits: t.Hits,
		Ops: t.Ops, Commands: t.Commands, Hash: t.Hash, Err: t.Err}
}
