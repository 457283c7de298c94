package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/shrink"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// Saying is what this build says of a trial of the corpus.
type Saying struct {
	Line corpus.Line // as listed
	// Facts and Hash are as this build has them.
	Facts []string
	Hash  string
	// Shrunk is false if Line.Minimal does not show the trial's flaw any more.
	Shrunk bool
	// Err says why the trial could not be run or judged.
	Err error
}

// Difference is one way in which a build says something else than the list.
type Difference struct {
	What    string // "fact", "minimal trial", "history" or "error"
	Gone    bool   // the list has it, the build does not
	Text    string
	History bool // only the bytes of the history differ
}

// Differences compares what the build says with the list. Fact by fact: what the list has and the
// build has not comes first.
func (s Saying) Differences() (all []Difference) {
	if s.Err != nil {
		return []Difference{{What: "error", Text: s.Err.Error()}}
	}
	was := s.Line.Facts()
	for _, text := range was {
		if !slices.Contains(s.Facts, text) {
			all = append(all, Difference{What: "fact", Gone: true, Text: text})
		}
	}
	for _, text := range s.Facts {
		if !slices.Contains(was, text) {
			all = append(all, Difference{What: "fact", Text: text})
		}
	}
	if !s.Shrunk {
		all = append(all, Difference{What: "minimal trial", Gone: true, Text: "it does not show the flaw of the trial"})
	}
	if s.Line.Hash != "" && s.Line.Hash != s.Hash {
		all = append(all, Difference{What: "history", Text: s.Hash, History: true})
	}
	return all
}

// Say runs every trial of the corpus c.Corpus of the chosen recipes and faults again, and returns what
// this build says of each, in the order of the list. Nothing is stored. c.Config chooses recipes and
// faults, and has default options otherwise. progress is called after each trial; nil = never. The
// error is an input.Error if a line names something that does not exist.
func (c Campaign) Say(ctx context.Context, progress func(done, all int)) ([]Saying, error) {
	c.Config.Corpus = true
	c.Config = c.Config.filled(c.Defaults)
	if err := c.Config.check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockstorm-corpus-")
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	defer os.RemoveAll(dir)
	pool := worker.NewPool(c.Testbed, c.Worker, c.Config.Parallel)
	defer pool.Close()
	specs, err := c.lines(ctx, pool, dir)
	if err != nil {
		return nil, err
	}
	var asked corpus.List
	for _, l := range c.Corpus {
		if _, ok := specs[l.Key()]; ok {
			asked = append(asked, l)
		}
	}
	if len(asked) == 0 {
		return nil, input.Errorf("the corpus has no trial of %s under %s: lockstorm corpus make --locks NAME adds the trials of a recipe", strings.Join(c.Config.Locks, ", "), strings.Join(c.Config.Faults, ", "))
	}
	all, done := make([]Saying, len(asked)), 0
	var mu sync.Mutex
	each(ctx, asked, c.Config.Parallel, func(i int, l corpus.Line) {
		s := Saying{Line: l, Shrunk: true, Err: errNoSuchTrial}
		if spec := specs[l.Key()]; spec != nil {
			s = say(ctx, pool, filepath.Join(dir, fmt.Sprint(i)), *spec, l)
		}
		mu.Lock()
		defer mu.Unlock()
		all[i] = s
		if done++; progress != nil {
			progress(done, len(asked))
		}
	})
	return all, ctx.Err()
}

// errNoSuchTrial is of a line whose schedule the changed recipe does not have.
var errNoSuchTrial = errors.New("the recipe has changed: it has no such trial any more")

// lines returns the specs of the chosen lines of the corpus; nil for lines without a trial. It runs the probes.
func (c Campaign) lines(ctx context.Context, pool worker.Pool, dir string) (map[corpus.Key]*trial.Spec, error) {
	p := newPlanner(c.Config, c.Testbed)
	var err error
	if p.corpus, err = newMemory(c.Corpus, c.Config); err != nil {
		return nil, err
	}
	p.corpus.replayed = true
	cells, err := p.cells()
	if err != nil {
		return nil, err
	}
	cells = slices.DeleteFunc(cells, func(c plannedCell) bool { return p.corpus.of(c) == nil })
	probes, err := p.probes(cells)
	if err != nil {
		return nil, err
	}
	var failed error
	var mu sync.Mutex
	each(ctx, probes, c.Config.Parallel, func(_ int, j job) {
		d, err := pool.Run(ctx, trial.Task{Spec: j.spec, Folder: filepath.Join(dir, trial.Folder(j.spec)), Probe: true, Drop: true}, nil)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && d.Trial.Err != "" {
			err = errors.New(d.Trial.Err)
		}
		if err != nil {
			failed = cmp.Or(failed, fmt.Errorf("probe %s (%s): %w", j.spec.Lock, j.spec.Workload, err))
			return
		}
		p.seen[pair{j.spec.Lock, j.spec.Workload}] = d.Seen
		d.Trial.Spec = j.spec
		if p.corpus.compare(&d.Trial); d.Trial.Changed {
			p.corpus.changed[j.spec.Lock] = true
		}
	})
	if err := cmp.Or(failed, ctx.Err()); err != nil {
		return nil, err
	}
	jobs, err := p.jobs(cells)
	if err != nil {
		return nil, err
	}
	planned := map[corpus.Key]*trial.Spec{}
	for _, j := range append(probes, jobs...) {
		planned[corpus.KeyOf(j.spec)] = &j.spec
	}
	specs := map[corpus.Key]*trial.Spec{}
	for k := range p.corpus.lines {
		chosen := slices.ContainsFunc(cells, func(c plannedCell) bool { return c.recipe.ID == k.Lock && c.fault.Name == k.Fault })
		if spec := planned[k]; chosen && (spec != nil || p.corpus.changed[k.Lock]) {
			specs[k] = spec
		}
	}
	return specs, nil
}

// say runs one trial, and its smallest version if the line has one.
func say(ctx context.Context, pool worker.Pool, folder string, spec trial.Spec, l corpus.Line) Saying {
	s := Saying{Line: l, Shrunk: true}
	d, err := pool.Run(ctx, trial.Task{Spec: spec, Folder: folder, Drop: true, Probe: l.Fault == nemesis.Undisturbed().Name}, nil)
	if err == nil && d.Trial.Err != "" {
		err = errors.New(d.Trial.Err)
	}
	if err != nil {
		s.Err = err
		return s
	}
	d.Trial.Spec = spec
	s.Facts, s.Hash = corpus.Facts(d.Trial), d.Trial.Hash[:min(corpus.HashDigits, len(d.Trial.Hash))]
	if l.Minimal != nil {
		s.Shrunk, s.Err = shrink.Stands(ctx, pool, d.Trial, *l.Minimal, folder+"-minimal")
	}
	return s
}

// SayRecorded judges a trial that is stored in a folder, from its files alone.
func SayRecorded(ctx context.Context, folder string, l corpus.Line) Saying {
	s := Saying{Line: l, Shrunk: true}
	record, err := trial.LoadJudged(folder)
	if err != nil {
		s.Err = err
		return s
	}
	t, err := trial.Judge(ctx, record)
	if err != nil {
		s.Err = err
		return s
	}
	s.Facts = corpus.Facts(t)
	return s
}

// Record returns the line of a corpus.RecordedList in the directory dir for the trial stored in folder.
func Record(ctx context.Context, folder, dir string) ([]byte, error) {
	s := SayRecorded(ctx, folder, corpus.Line{})
	if s.Err != nil {
		return nil, s.Err
	}
	record, err := trial.LoadRecord(folder)
	if err != nil {
		return nil, err
	}
	if record.Spec == nil {
		return nil, input.Errorf("%s: expected a trial that a run of Lockstorm stored, with its %s", folder, trial.SpecFile)
	}
	path, err := filepath.Rel(dir, folder)
	if err != nil {
		return nil, input.Errorf("%s: %w", folder, err)
	}
	t := *record.Spec
	r := corpus.Recorded{Folder: filepath.ToSlash(path), Line: corpus.Line{Lock: t.Lock, Fault: t.Fault, Workload: t.Workload, Schedule: t.Schedule, For: s.Facts}}
	if !t.Named() {
		r.Line.Trial = t.Trial
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("corpus: encode %s: %w", folder, err)
	}
	return append(text, '\n'), nil
}
