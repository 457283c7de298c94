package mutants

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// For every mutant there is a named schedule that catches it: in more than 4 of 21 runs with different
// seeds the mutant shows a flaw, and neither its control nor the good recipe shows it in any run. A
// flaw of the oracle "liveness" does not count if the good recipe declares it for the schedule's fault.
//
// testdata/caught.tsv names the schedules. With -hunt the test runs all schedules again and writes
// the file anew. With -short the test runs each schedule with three seeds, and the mutant may show its flaw
// with one of them only.
func TestEveryMutantIsCaught(t *testing.T) {
	all := register(t)
	known := readCatches(t)
	found := make([]*catch, len(all))
	t.Run("mutants", func(t *testing.T) {
		for i, m := range all {
			t.Run(strings.TrimPrefix(m.ID, "mutant-"), func(t *testing.T) {
				t.Parallel()
				h := hunter{mutant: m, bed: sim.New()}
				was, ok := known[m.ID]
				if ok && !*hunting {
					h.only = &was.where
				}
				if err := h.hunt(t.Context()); err != nil {
					t.Fatal(err)
				}
				if found[i] = h.best; h.best == nil {
					t.Fatalf("not caught in %d named trials: of %s: %s", h.trials, m.Of, m.Doc)
				}
				if b := h.best; ok && !*hunting && (b.oracle != was.oracle || b.cause != was.cause) {
					t.Errorf("it shows %s by %s, but %s has %s by %s", b.oracle, b.cause, catchesFile, was.oracle, was.cause)
				}
				t.Logf("of %s, caught after %d trials: %s", m.Of, h.trials, h.best)
			})
		}
	})
	if *hunting {
		writeCatches(t, all, found)
	}
}

var hunting = flag.Bool("hunt", false, "go through all schedules, and write down which catch the mutants")

// A variant without a mistake is not caught. The test runs only the fault node-clock, under which such
// variants once differed from their controls by accident; with -hunt it runs all faults.
func TestNoMistakeIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make thorough runs it")
	}
	register(t)
	for _, m := range nulls() {
		t.Run(strings.TrimPrefix(m.ID, "mutant-"), func(t *testing.T) {
			t.Parallel()
			h := hunter{mutant: m, bed: sim.New()}
			if !*hunting {
				h.faults = []string{"node-clock"}
			}
			if err := h.hunt(t.Context()); err != nil {
				t.Fatal(err)
			}
			if h.best != nil {
				t.Errorf("caught, though it is right: of %s: %s: %s", m.Of, m.Doc, h.best)
			}
			t.Logf("not caught in %d trials", h.trials)
		})
	}
}

// nulls returns variants that differ from their controls, but not by a mistake: for example, one waits
// 300 µs before it asks for the lock.
func nulls() []Mutant {
	safer := quorums()[0]
	safer.ID, safer.Doc = "mutant-more-drift-than-needed", "one millisecond more is subtracted for the drift of clocks"
	control := safer.control
	safer.lock = func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
		l, err := control(c, key, ttl)
		if err == nil {
			l.(*quorum).drift += time.Millisecond
		}
		return l, err
	}
	slower := singles()[0]
	slower.ID, slower.Doc = "mutant-slow-to-ask", "it waits a moment before it asks"
	asks := slower.control
	slower.lock = func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
		l, err := asks(c, key, ttl)
		if err != nil {
			return nil, err
		}
		s := l.(*singleLock)
		acquire := s.acquire
		s.acquire = func(ctx context.Context) (locks.Lease, error) {
			time.Sleep(300 * time.Microsecond)
			return acquire(ctx)
		}
		return s, nil
	}
	return []Mutant{safer, slower}
}

// where is a named schedule in a cell. A cell is the trials of one fault and one workload.
type where struct{ fault, workload, schedule string }

// sighting is a schedule that catches a mutant, with the flaw that the mutant shows there.
type sighting struct {
	where
	oracle string
	cause  checker.Cause
}

const catchesFile = "testdata/caught.tsv"

// readCatches reads the table of sightings, by the mutant's id.
func readCatches(t *testing.T) map[string]sighting {
	t.Helper()
	data, err := os.ReadFile(catchesFile)
	if err != nil && !*hunting {
		t.Fatal(err)
	}
	known := map[string]sighting{}
	for line := range strings.Lines(string(data)) {
		if c := strings.Split(strings.TrimSpace(line), "\t"); len(c) == 6 {
			known[c[0]] = sighting{where{c[1], c[2], c[3]}, c[4], checker.Cause(c[5])}
		}
	}
	return known
}

// writeCatches writes the table that readCatches reads.
func writeCatches(t *testing.T, all []Mutant, found []*catch) {
	t.Helper()
	var b strings.Builder
	for i, c := range found {
		if c != nil {
			fmt.Fprintln(&b, strings.Join([]string{all[i].ID, c.spec.Fault, c.spec.Workload, c.spec.Schedule, c.oracle, string(c.cause)}, "\t"))
		}
	}
	if err := os.WriteFile(catchesFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// register registers the mutants, the nulls and their controls as recipes. It returns the mutants.
func register(t *testing.T) []Mutant {
	t.Helper()
	for _, m := range append(All(), nulls()...) {
		for _, make := range []func() (locks.Recipe, error){m.Recipe, m.Control} {
			r, err := make()
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := locks.ByID(r.ID); !ok {
				locks.Register(r)
			}
		}
	}
	return All()
}

// catch is a flaw that a mutant shows in a named trial. The flaw distinguishes the mutant from its
// good recipe.
type catch struct {
	spec   trial.Spec
	oracle string
	cause  checker.Cause
	// declared says that the good recipe declares the flaw for the fault. Even then the good recipe
	// does not show the flaw in this schedule.
	declared bool
}

// String names the flaw and the schedule.
func (c catch) String() string {
	how := "which the good recipe does not declare"
	if c.declared {
		how = "which does not show in that schedule without the mistake"
	}
	return fmt.Sprintf("%s by %s, %s: %s, %s, schedule %s", c.oracle, c.cause, how, c.spec.Fault, c.spec.Workload, c.spec.Schedule)
}

// hunter looks for the first trial that catches a mutant. It prefers flaws that the good recipe
// does not declare.
type hunter struct {
	mutant Mutant
	bed    *sim.Testbed
	only   *where   // the only schedule to try; nil = all schedules
	faults []string // the only faults to look under; nil = all faults
	trials int
	best   *catch
}

func (h *hunter) skips(fault, workload string) bool {
	return h.only != nil && (h.only.fault != fault || h.only.workload != workload) ||
		h.faults != nil && !slices.Contains(h.faults, fault)
}

// hunt tries the named trials of all cells that the hunter does not skip. It ends early at a flaw that
// the good recipe does not declare.
func (h *hunter) hunt(ctx context.Context) error {
	for _, f := range nemesis.All() {
		for _, w := range campaign.StandardWorkloads() {
			// No recipe here claims what a workload asks for, and a document's workload shows flaws of its own.
			if w.Asks != nil || w.Document != "" || h.skips(f.Name, w.Name) {
				continue
			}
			specs, err := h.named(ctx, f.Name, w.Name)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", f.Name, w.Name, err)
			}
			for _, s := range specs {
				if h.only != nil && h.only.schedule != s.Schedule {
					continue
				}
				if err := h.try(ctx, s); err != nil || h.best != nil && !h.best.declared {
					return err
				}
			}
		}
	}
	return nil
}

// named returns the mutant's named trials in a cell; none if the mutant cannot run in the cell, for
// example because the workload is for read-write locks.
func (h *hunter) named(ctx context.Context, fault, workload string) ([]trial.Spec, error) {
	config := campaign.DefaultConfig()
	config.Testbed, config.Locks, config.Faults, config.Workloads = h.bed.Name(), []string{h.mutant.ID}, []string{fault}, []string{workload}
	config.Named, config.NamedOnly, config.Trials = true, true, 0
	p, err := campaign.NewPlanning(h.bed, config)
	if bad := new(input.Error); errors.As(err, &bad) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := p.Look(ctx, h.bed); err != nil {
		return nil, err
	}
	specs, _, err := p.Trials(fault)
	return specs, err
}

// try runs one trial of the mutant, and keeps the best flaw that is due to the mistake (rests) as
// h.best. A flaw that the good recipe declares is worse than one that it does not declare, and never
// counts if its oracle is "liveness".
func (h *hunter) try(ctx context.Context, s trial.Spec) error {
	h.trials++
	found, err := h.run(ctx, h.mutant.ID, s)
	if err != nil {
		return err
	}
	good, _ := locks.ByID(h.mutant.Of)
	for _, c := range found {
		c.declared = declares(good, c)
		if h.best != nil && (!h.best.declared || c.declared) || c.declared && c.oracle == "liveness" {
			continue
		}
		rests, err := h.rests(ctx, c)
		if err != nil {
			return err
		}
		if rests {
			h.best = &c
		}
	}
	return nil
}

// A lock that is only a little slower than another lock meets the same fault at another moment. It
// may then show a flaw by accident that the other lock does not show. So a schedule runs with other
// seeds, too.
const (
	repeats    = 20
	leastShown = 4 // the mutant must show the flaw in more runs than this; the control and the good recipe, never
)

// rests reports whether a catch is due to the mistake: in runs of its schedule with 21 seeds the mutant
// shows the flaw more than leastShown times, its control and the good recipe never. With -short there are
// three runs.
func (h *hunter) rests(ctx context.Context, c catch) (bool, error) {
	shown, runs, least := 0, uint64(repeats+1), leastShown
	if testing.Short() {
		runs, least = 3, 0
	}
	for i := range runs {
		s := c.spec
		s.Seed = (s.Seed + i) % trial.MaxSeed
		s.Options.Seed = s.Seed
		for _, lock := range []string{h.mutant.ID + "-control", h.mutant.Of} {
			if does, err := h.shows(ctx, lock, s, c); does || err != nil {
				return false, err
			}
		}
		does, err := h.shows(ctx, h.mutant.ID, s, c)
		if err != nil {
			return false, err
		}
		if does {
			shown++
		}
	}
	return shown > least, nil
}

// shows reports whether a lock shows the flaw of a catch in a schedule.
func (h *hunter) shows(ctx context.Context, lock string, s trial.Spec, c catch) (bool, error) {
	found, err := h.run(ctx, lock, s)
	return slices.ContainsFunc(found, func(g catch) bool { return g.oracle == c.oracle && g.cause == c.cause }), err
}

func declares(r locks.Recipe, c catch) bool {
	_, ok := r.Declares(c.oracle, string(c.cause), c.spec.Fault)
	return ok
}

// run runs one trial of a lock, judges its history, and returns a catch for each finding.
func (h *hunter) run(ctx context.Context, lock string, s trial.Spec) ([]catch, error) {
	s.Lock = lock
	e, err := trial.Run(ctx, h.bed, s, history.NewRecorder(nil, h.bed.Clock()), nil)
	if err != nil {
		return nil, fmt.Errorf("%s under %s, %s, schedule %s: %w", s.Lock, s.Fault, s.Workload, s.Schedule, err)
	}
	verdicts, err := checker.Judge(ctx, e)
	if err != nil {
		return nil, err
	}
	var found []catch
	for _, v := range verdicts {
		for _, f := range v.Findings {
			found = append(found, catch{spec: s, oracle: v.Oracle, cause: f.Cause})
		}
	}
	return found, nil
}
