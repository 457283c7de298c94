package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// Campaign is a comparison that is ready to run.
type Campaign struct {
	Config Config
	// Command is the command line, for the record.
	Command  string
	Versions Versions
	// Prefix begins the names of all locks on servers shared with other users, for the record
	// (Info.Prefix); "" = the campaign has servers of its own.
	Prefix  string
	Testbed testbed.Testbed
	// Corpus are the trials that Config.Corpus runs first.
	Corpus corpus.List
	// Worker is the command line of a program that calls worker.Serve on the same testbed.
	// Config.Parallel such processes run the trials. nil = trials run in this process, which ends
	// if the code under test panics.
	Worker []string
	// Defaults has Trials and Parallel for a Config in which they are 0. Run ignores the other
	// defaults.
	Defaults Defaults
	// NewSink makes the receiver of the results, given the campaign's directory; nil =
	// no receiver.
	NewSink func(dir string) (Sink, error)
	// Progress is called after each trial, before shrinking and after each shrunk trial, one call at a
	// time; may be nil.
	Progress func(Progress)
	// Stop interrupts the campaign when it is closed: no more trials start, and running trials finish;
	// nil = never.
	Stop <-chan struct{}
	// over says whether Config.Budget is used up before drawn trial number k. Only tests set it; else Run does, and
	// uses the clock.
	over func(k int) bool
	// quiet replaces leastQuiet; 0 = it does not. Only tests set it.
	quiet int
}

// Run plans the campaign, runs, judges and stores its trials, and returns the findings. If ctx
// ends, no more trials start, and running ones are torn down. Finished trials are stored and
// returned with Matrix.Interrupted, without an error. A failed trial is part of the result
// (Matrix.Failed), not an error. An input.Error says that the configuration is invalid or that
// nothing could be tested.
func (c Campaign) Run(ctx context.Context) (Stored, error) {
	c.Config = c.Config.filled(c.Defaults)
	confirm, err := newConfirmation(&c.Config)
	if err != nil {
		return Stored{}, err
	}
	if err := c.Config.check(); err != nil {
		return Stored{}, err
	}
	if err := trial.CheckClients(c.Config.ClientsAs, c.Testbed); err != nil {
		return Stored{}, err
	}
	if c.Config.Budget > 0 && trial.RealTime(c.Testbed) {
		return Stored{}, input.Errorf("%s %v: expected none on testbed %s, whose trials cannot be run again as they were", input.Setting("budget"), c.Config.Budget, c.Config.Testbed)
	}
	p := newPlanner(c.Config, c.Testbed)
	p.confirm = confirm
	if c.Config.Corpus {
		if p.corpus, err = newMemory(c.Corpus, c.Config); err != nil {
			return Stored{}, err
		}
		p.fresh = cmp.Or(c.Defaults.Trials, modest.Trials)
	}
	cells, err := p.cells()
	if err != nil {
		return Stored{}, err
	}
	if cells, err = confirm.among(cells); err != nil {
		return Stored{}, err
	}
	if err := cmp.Or(p.sensible(cells...), testsSomething(cells)); err != nil {
		return Stored{}, err
	}
	started := time.Now()
	st, err := createStore(c.Config.Store, c.Config.Name, started)
	if err != nil {
		return Stored{}, err
	}
	st.batched = !trial.RealTime(c.Testbed) // a trial that is lost can be run again
	r := &run{Campaign: c, store: st, planner: p, started: started, info: Info{
		Format: trial.Format,
		Config: c.Config, Command: c.Command, Versions: c.Versions, Prefix: c.Prefix, Started: started.UTC(),
		Deterministic: !trial.RealTime(c.Testbed), Adapted: p.corpus != nil && p.corpus.adapted, Plan: planned(cells),
	}}
	r.workers, r.under = worker.NewPool(c.Testbed, c.Worker, c.Config.Parallel), ctx
	starting, end := c.untilStop(ctx)
	err = r.all(starting, cells)
	end()
	r.workers.Close()
	return r.result, errors.Join(err, st.close())
}

// untilStop returns a context that ends with ctx or when Stop is closed. The caller must call
// end.
func (c Campaign) untilStop(ctx context.Context) (starting context.Context, end func()) {
	starting, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-c.Stop:
			cancel()
		case <-starting.Done():
		}
	})
	return starting, func() {
		cancel()
		waiting.Wait()
	}
}

// run is a campaign under way.
type run struct {
	Campaign
	// under is the context of running trials. It may outlive the context in which trials start,
	// which Stop cancels.
	under   context.Context
	store   *store
	planner *planner
	workers worker.Pool
	started time.Time
	info    Info
	sink    Sink
	result  Stored

	mu       sync.Mutex
	trials   []trial.Result
	spoilt   []spoilt                // trials spoilt in this round
	replaced map[string]trial.Result // by folder: spoilt runs whose reruns have not ended
	sample   []trial.Result          // trials to be repeated at the end
	changed  []string                // recipes with trials that have other histories than the corpus says
	shown    shown
	search   *search // the search for further trials; nil = it has not begun
	progress Progress
	err      error // the first error of the store, a worker or the sink
}

// probe runs the probes of the cells, and returns them.
func (r *run) probe(ctx context.Context, cells []plannedCell) ([]job, error) {
	probes, err := r.planner.probes(cells)
	if err != nil {
		return nil, err
	}
	r.progress.Total = len(probes)
	for _, c := range cells {
		drawn := r.Config.Trials
		if c.fault.Undisturbed {
			drawn = max(0, drawn-1) // the probe counts as the first drawn trial
		}
		r.progress.Total += drawn * len(c.workloads) / max(1, r.Config.Shard.Count)
	}
	r.runAll(ctx, r.sampling(r.progress.Total).mark(probes))
	return probes, nil
}

// all runs the probes, then everything else, and folds the results.
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
	probes, err := r.probe(ctx, cells)
	if err != nil {
		return err
	}
	r.info.Probes = len(probes)
	if ctx.Err() != nil { // without its probe, a cell's schedules are unknown
		return r.finish(ctx)
	}
	for _, lock := range r.changed {
		r.planner.corpus.changed[lock] = true
	}
	jobs, err := r.planner.jobs(cells)
	if err != nil {
		return errors.Join(err, r.store.discard())
	}
	// Only the probes show which cells a fault cannot strike.
	if err := testsSomething(cells); err != nil {
		return errors.Join(err, r.store.discard())
	}
	jobs = r.Config.Shard.share(probes, jobs, cells)
	r.info.Plan, r.info.Sought = planned(cells), r.planner.sought()
	// Publish only now: until the probes have run, the older campaign in latest shows more.
	if err := r.store.publish(); err != nil {
		return err
	}
	first := func([]plannedCell) (now []job, err error) {
		now, jobs = jobs, nil
		return now, nil
	}
	if err := r.exhaust(ctx, cells, first, r.widen, r.insist); err != nil {
		return err
	}
	r.repeat(ctx)
	if err := r.exhaust(ctx, cells, r.further); err != nil {
		return err
	}
	r.digest()
	r.shrink(ctx)
	return r.finish(ctx)
}

// saveInfo writes campaign.json. Before that, it flushes the list of trials: campaign.json must not
// count trials that the list lacks.
func (r *run) saveInfo() error {
	if err := r.store.flush(); err != nil {
		return err
	}
	return packed.WriteJSON(filepath.Join(r.store.dir, CampaignFile), r.info)
}

// pool runs jobs in order, parallel at a time, until ctx ends or the campaign fails.
func (r *run) pool(ctx context.Context, jobs []job, parallel int) {
	each(ctx, jobs, parallel, func(_ int, j job) {
		if !r.failed() {
			r.trial(j)
		}
	})
}

// failed says whether the store, a worker or the sink has failed.
func (r *run) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// trial runs the trial of a job and counts the trial. If the machine spoilt the trial, it is set
// aside for a rerun. Only the end of r.under interrupts the trial.
func (r *run) trial(j job) {
	ctx := r.under
	if j.further && r.over(j.spec.Trial) {
		return
	}
	r.begin(j)
	d, err := r.workers.Run(ctx, trial.Task{
		Spec: j.spec, Folder: r.folder(j.spec), Keep: !j.further && (r.Config.Keep || j.sampled || r.planner.corpus.headline(j.spec)),
		Compress: true, Monitor: r.Config.Monitor, Probe: j.probe, Enough: r.enough(j.spec),
	}, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	var left *testbed.TeardownError
	switch {
	case ctx.Err() != nil && !errors.As(err, &left): // the trial was interrupted
	case err != nil:
		r.fail(err)
	default:
		r.take(ctx, j, d)
	}
}

func (r *run) folder(s trial.Spec) string { return filepath.Join(r.store.dir, trial.Folder(s)) }

// fail keeps the first error, after which no more trials run. The caller holds mu.
func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// take records the outcome of a job, or sets it aside for a rerun. The caller holds mu.
func (r *run) take(ctx context.Context, j job, d trial.Done) {
	t := d.Trial
	t.Spec, t.Stall, t.Acquires = j.spec, max(t.Stall, j.stall), d.Acquires
	if j.further { // digest stores it, or counts it
		d.Trial = t
		r.search.batch = append(r.search.batch, d)
		r.advance(t)
		return
	}
	r.replaces(j, &d, &t)
	r.planner.corpus.compare(&t)
	if d.Kept {
		r.place(&t, j.sampled)
	}
	if j.probe && t.Err == "" {
		r.planner.seen[pair{t.Spec.Lock, t.Spec.Workload}] = d.Seen
	}
	if t.Changed {
		r.changed = append(r.changed, t.Spec.Lock)
	}
	if r.spoils(d, t) && j.earlier < mostReruns {
		r.spoilt = append(r.spoilt, spoilt{job: j, trial: t})
		return
	}
	if j.sampled && t.Err == "" && !d.Died {
		r.sample = append(r.sample, t)
	}
	r.record(ctx, t)
}

// place sets the folder of a trial whose evidence was kept. If the evidence is not needed, because another
// trial, which has ended meanwhile, shows the same flaws, place removes it, unless spared. The caller holds mu.
func (r *run) place(t *trial.Result, spared bool) {
	if r.Config.Keep || t.Violation() && (t.Headline || !r.shownBefore(*t)) || t.Outcome == trial.Unknown {
		t.Dir = trial.Folder(t.Spec)
	} else if !spared {
		r.remove(r.folder(t.Spec))
	}
}

// remove removes the folder of a trial. The caller holds mu.
func (r *run) remove(folder string) {
	if err := trial.RemoveFolder(folder); err != nil {
		r.fail(err)
	}
}

// record stores a judged trial and reports it to the sink and Progress. The caller holds
// mu.
func (r *run) record(ctx context.Context, t trial.Result) {
	r.keep(ctx, t)
	r.advance(t)
}

// keep stores a judged trial and reports it to the sink. The caller holds mu.
func (r *run) keep(ctx context.Context, t trial.Result) {
	if err := r.store.add(t); err != nil {
		r.fail(err)
	}
	if r.sink != nil {
		if err := r.sink.Trial(ctx, t); err != nil {
			r.fail(fmt.Errorf("report %s: %w", trial.Folder(t.Spec), err))
		}
	}
	if t.Dir == "" {
		t = t.Brief() // no folder has the details; only a new run gives them
	}
	r.trials = append(r.trials, t)
	r.shown.add(t)
}

// advance adds an ended trial to the progress, and reports the progress to Campaign.Progress. The
// caller holds mu.
func (r *run) advance(t trial.Result) {
	r.progress.Done++
	if t.Violation() {
		r.progress.Violations++
	}
	if t.Err != "" {
		r.progress.Failed++
	}
	r.progress.Virtual += t.Virtual
	if r.Progress != nil {
		now := r.progress
		now.Trial = &t
		r.Progress(now)
	}
}

// finish folds the trials, and stores and reports the matrix.
func (r *run) finish(ctx context.Context) error {
	r.info.Elapsed, r.info.Interrupted = time.Since(r.started), ctx.Err() != nil
	r.result.Dir, r.result.Info, r.result.Trials = r.store.dir, r.info, r.trials
	r.result.Matrix = fold(r.info, r.store.dir, r.trials)
	r.result.Matrix.withMinimals(r.store.dir)
	err := cmp.Or(r.store.seal(), r.saveInfo(), packed.WriteJSON(filepath.Join(r.store.dir, MatrixFile), r.result.Matrix))
	if err == nil && r.sink != nil {
		err = r.report(context.WithoutCancel(ctx)) // an interrupted campaign is reported too
	}
	if err == nil && !r.info.Interrupted && !r.Config.Shard.Part() { // other shards may have all trials
		err = r.result.Matrix.testsSomething()
	}
	return cmp.Or(r.err, err) // r.err came first and may have caused err: a full disk makes everything fail
}

// report hands the result to the sink.
func (r *run) report(ctx context.Context) error {
	if err := r.sink.Done(ctx, r.result); err != nil {
		return fmt.Errorf("report the campaign: %w", err)
	}
	return nil
}
