package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/remedies"
	"github.com/lockstorm/lockstorm/trial/shrink"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// MakeCorpus makes a corpus for the recipes that c.Config chooses, from the trials of thorough
// campaigns: every named schedule, and the drawn trials of each of these seeds. c.Config has default
// options otherwise. Minimal trials of c.Corpus that still show their flaw are kept; others are
// searched for with at most c.Config.Shrink trials each. It also returns the order of the named schedules
// (corpus.Order). progress tells what is being done; it may be
// nil. The campaigns are stored below c.Config.Store.
func (c Campaign) MakeCorpus(ctx context.Context, seeds []uint64, progress func(string)) (corpus.List, []corpus.Schedule, error) {
	if progress == nil {
		progress = func(string) {}
	}
	c.Config.Parallel = c.Config.filled(c.Defaults).Parallel
	m := &making{specs: map[corpus.Key]trial.Spec{}, draws: map[cellFlaw][2]int{}}
	campaigns := []Config{{Named: true, NamedOnly: true}}
	for _, seed := range seeds {
		campaigns = append(campaigns, Config{Seed: seed})
	}
	for i, of := range campaigns {
		thorough := c
		thorough.Config.Named, thorough.Config.NamedOnly, thorough.Config.Shrink, thorough.Config.Trials = of.Named, of.NamedOnly, 0, 0
		if !of.NamedOnly {
			thorough.Config.Seed = of.Seed
		}
		m.seed = thorough.Config.Seed
		thorough.NewSink = func(string) (Sink, error) { return m, nil }
		progress(fmt.Sprintf("campaign %d of %d", i+1, len(campaigns)))
		stored, err := thorough.Run(ctx)
		if err != nil {
			return nil, nil, err
		}
		if stored.Matrix.Interrupted {
			return nil, nil, cmp.Or(ctx.Err(), errors.New("make a corpus: interrupted"))
		}
		if len(stored.Matrix.Failed) > 0 {
			t := stored.Matrix.Failed[0]
			return nil, nil, fmt.Errorf("make a corpus: %s under %s, %s: %s", t.Spec.Lock, t.Spec.Fault, t.Spec.Title(), t.Err)
		}
	}
	list := corpus.Choose(m.candidates)
	m.askForDraws(list)
	pool := worker.NewPool(c.Testbed, c.Worker, c.Config.Parallel)
	defer pool.Close()
	progress(fmt.Sprintf("%d trials chosen of %d; their stories, and the smallest trials", len(list), len(m.candidates)))
	return list, corpus.Order(m.candidates), c.finish(ctx, pool, m, list)
}

// making collects the trials of the campaigns. It is their Sink.
type making struct {
	seed       uint64
	candidates []corpus.Candidate
	specs      map[corpus.Key]trial.Spec
	draws      map[cellFlaw][2]int // by cell: drawn trials, and those that were decided
}

// Trial implements Sink.
func (m *making) Trial(_ context.Context, t trial.Result) error {
	c := corpus.NewCandidate(t, m.seed)
	if _, known := m.specs[c.Line.Key()]; known { // a probe, which every campaign runs
		return nil
	}
	t.Spec.DrawnFrom = c.Line.Seed
	m.specs[c.Line.Key()] = t.Spec
	m.candidates = append(m.candidates, c)
	if c.Line.Seed > 0 {
		at := cellFlaw{lock: t.Spec.Lock, fault: t.Spec.Fault}
		n := m.draws[at]
		n[0]++
		if t.Decided() {
			n[1]++
		}
		m.draws[at] = n
	}
	return nil
}

// Done implements Sink.
func (m *making) Done(context.Context, Stored) error { return nil }

// askForDraws sets Line.Draw in cells without a violation whose fault sometimes hits nothing.
func (m *making) askForDraws(list corpus.List) {
	violated := map[cellFlaw]bool{}
	for _, l := range list {
		at := cellFlaw{lock: l.Lock, fault: l.Fault}
		violated[at] = violated[at] || slices.ContainsFunc(l.Facts(), corpus.IsFlaw)
	}
	for i, l := range list {
		at := cellFlaw{lock: l.Lock, fault: l.Fault}
		drawn, decided := m.draws[at][0], m.draws[at][1]
		if !violated[at] && 0 < decided && decided < drawn {
			const spare = 1.1
			list[i].Draw = min(corpus.MostDrawn, int(math.Ceil(cleanDrawn*spare*float64(drawn)/float64(decided))))
		}
	}
}

// headlines returns the indices of the lines that show the verdicts of violated cells best.
func (m *making) headlines(list corpus.List) (at []int) {
	best := map[cellFlaw]int{}
	order := map[corpus.Key]int{}
	for _, c := range m.candidates {
		order[c.Line.Key()] = c.Order
	}
	for i, l := range list {
		if !slices.ContainsFunc(l.Facts(), corpus.IsFlaw) {
			continue
		}
		cell := cellFlaw{lock: l.Lock, fault: l.Fault}
		j, ok := best[cell]
		if !ok {
			best[cell] = i
			continue
		}
		a, b := l.Key(), list[j].Key()
		turn := m.specs[a].Turn().Compare(m.specs[b].Turn())
		if order[a] < order[b] || order[a] == order[b] && turn < 0 {
			best[cell] = i
		}
	}
	for _, i := range best {
		at = append(at, i)
	}
	return at
}

// finish completes the lines: remedies, and the minimal trials of headlines.
func (c Campaign) finish(ctx context.Context, pool worker.Pool, m *making, list corpus.List) error {
	dir, err := os.MkdirTemp("", "lockstorm-corpus-")
	if err != nil {
		return fmt.Errorf("make a corpus: %w", err)
	}
	defer os.RemoveAll(dir)
	before := map[corpus.Key]*trial.Spec{}
	for _, l := range c.Corpus {
		before[l.Key()] = l.Minimal
	}
	headline := map[int]bool{}
	for _, i := range m.headlines(list) {
		headline[i] = true
	}
	var mu sync.Mutex
	var failed error
	each(ctx, list, c.Config.Parallel, func(i int, l corpus.Line) {
		folder := filepath.Join(dir, fmt.Sprint(i))
		if headline[i] {
			l.Minimal = before[l.Key()]
		}
		s := say(ctx, pool, folder, m.specs[l.Key()], l)
		err := s.Err
		if err == nil && !slices.Equal(s.Facts, l.Facts()) {
			err = fmt.Errorf("%s shows %q when it runs again, not %q", l.Title(), s.Facts, l.Facts())
		}
		if err == nil && headline[i] && (l.Minimal == nil || !s.Shrunk) {
			l.Minimal, err = c.smallest(ctx, pool, folder, m.specs[l.Key()])
		}
		if err == nil && l.Minimal != nil {
			l.Remedied, err = remedied(ctx, pool, folder, *l.Minimal)
		}
		list[i] = l
		if err != nil {
			mu.Lock()
			failed = errors.Join(failed, fmt.Errorf("make a corpus: %w", err))
			mu.Unlock()
		}
	})
	return errors.Join(failed, ctx.Err())
}

// remedied returns what remedies do about the flaws of a minimal trial.
func remedied(ctx context.Context, pool worker.Pool, folder string, minimal trial.Spec) (*remedy.Effects, error) {
	defer os.RemoveAll(folder)
	if _, err := pool.Run(ctx, trial.Task{Spec: minimal, Folder: folder, Keep: true}, nil); err != nil {
		return nil, err
	}
	t, e, err := trial.Load(folder)
	if err != nil || len(t.Flaws) == 0 {
		return nil, err
	}
	r, err := remedies.Try(ctx, ctx, pool, t, e, folder+"-remedied")
	return &r, err
}

// smallest returns the shrunk version of a trial; nil if there is none.
func (c Campaign) smallest(ctx context.Context, pool worker.Pool, folder string, spec trial.Spec) (*trial.Spec, error) {
	defer os.RemoveAll(folder)
	d, err := pool.Run(ctx, trial.Task{Spec: spec, Folder: folder, Drop: true}, nil)
	if err != nil {
		return nil, err
	}
	d.Trial.Spec = spec
	t, err := shrink.Run(ctx, ctx, c.Config.Shrink, pool, d.Trial, folder)
	if why := shrink.NotShrunk(""); errors.As(err, &why) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &t.Spec, nil
}
