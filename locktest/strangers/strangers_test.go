package strangers

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/locks/peers"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// The test runs every named schedule and all random trials. With -short it runs the trials that
// the table names, those that the list trials.txt names for the other rows of the table, and of the random
// ones those of one seed under a twelfth of the faults. To look at one trial:
//
//	go test ./locktest/strangers -run /watch-multi$ -fault delay -schedule release.n0.2.before-1of2 -v
var (
	fault     = flag.String("fault", "", "run only the trials of these faults, separated by commas")
	schedule  = flag.String("schedule", "", "run only this named schedule, or only the random trial SEED/NUMBER, for example 7/0, and print its story")
	tableFile = flag.String("table", "", "write to this file what each lock showed under each fault")
)

// seeds lists the campaign seeds of the random trials.
var seeds = []uint64{1, 7}

// subject is a lock to try, with a lease time and the expected verdicts.
type subject struct {
	name   string
	recipe locks.Recipe
	ttl    time.Duration
	promised
}

// The table states the verdicts on every lock of other people. A correct lock shows only
// the limits of its kind. A wrong lock also shows its mistake. Verdicts are unknown only
// where the table permits it.
func TestStrangersAreJudgedAsTheTableSays(t *testing.T) {
	all := subjects(t)
	results := make([]*tally, len(all))
	start := time.Now()
	t.Run("locks", func(t *testing.T) {
		for i, s := range all {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				results[i] = s.try(t)
				for _, d := range results[i].deviations {
					t.Error(d)
				}
				t.Log(results[i])
			})
		}
	})
	t.Logf("in %v", time.Since(start).Round(time.Second))
	if *tableFile != "" {
		writeTable(t, results)
	}
	if *writeList {
		writeTrials(t, all, results)
	}
}

// subjects returns the locks with their expected verdicts. It registers each lock, so that
// trials find it.
func subjects(t *testing.T) []subject {
	t.Helper()
	var all []subject
	add := func(r locks.Recipe, name string, ttl time.Duration) {
		if _, ok := locks.ByID(r.ID); !ok {
			locks.Register(r)
		}
		p, ok := table[r.ID]
		if !ok {
			t.Errorf("the table says nothing of %s", r.ID)
		}
		all = append(all, subject{name: name, recipe: r, ttl: ttl, promised: p})
	}
	for _, s := range All() {
		add(s.Recipe(), s.ID, time.Second)
		if table[s.ID].secondTTL > 0 {
			add(s.Recipe(), fmt.Sprint(s.ID, "-", table[s.ID].secondTTL), table[s.ID].secondTTL)
		}
	}
	for _, r := range peers.Recipes() {
		if _, ok := table[r.ID]; ok { // the other recipes are other configurations of these libraries
			add(r, r.ID, time.Second)
		}
	}
	// The most expensive subjects come first.
	slices.SortStableFunc(all, func(a, b subject) int { return cmp.Compare(b.cost(), a.cost()) })
	return all
}

// cost estimates the time that the subject's trials take, relative to other subjects.
func (s subject) cost() int {
	if s.recipe.Topology == locks.Independent {
		return 5
	}
	return 1
}

// try runs the subject's trials and judges them.
func (s subject) try(t *testing.T) *tally {
	t.Helper()
	bed := sim.New()
	specs, err := s.specs(t.Context(), bed)
	if err != nil {
		t.Fatal(err)
	}
	results := &tally{subject: s.name, sizes: map[string]int{}}
	for _, spec := range specs {
		e, err := trial.Run(t.Context(), bed, spec.Spec, history.NewRecorder(nil, bed.Clock()), nil)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		verdicts, err := checker.Judge(t.Context(), e)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		results.add(spec, verdicts)
		results.sizes[s.line(spec)] = len(e.Ops) + len(e.Commands)
		if *schedule != "" {
			t.Log(told(spec, verdicts, e))
		}
	}
	results.deviations = s.deviate(results)
	return results
}

// seeded is a spec with the campaign seed that produced it.
type seeded struct {
	trial.Spec
	seed uint64
}

// number identifies the trial among those of its lock, fault and workload: the name of its
// schedule, or the seed and number of a random trial, such as "7/0".
func (s seeded) number() string {
	if s.Schedule != "" {
		return s.Schedule
	}
	return fmt.Sprintf("%d/%d", s.seed, s.Trial)
}

// String identifies the trial, with the flags that run it again.
func (s seeded) String() string {
	return fmt.Sprintf("%s -fault %s -schedule %s (%s)", s.Lock, s.Fault, s.number(), s.Workload)
}

// specs returns the trials of the subject that are to run.
func (s subject) specs(ctx context.Context, bed *sim.Testbed) ([]seeded, error) {
	config := campaign.DefaultConfig()
	config.Testbed, config.Locks, config.TTL = bed.Name(), []string{s.recipe.ID}, s.ttl
	config.Trials, config.Named, config.Hold = 1, true, s.hold
	if *fault != "" {
		config.Faults = strings.Split(*fault, ",")
	}
	var all []seeded
	for _, config.Seed = range seeds {
		specs, err := planned(ctx, bed, config)
		if err != nil {
			return nil, fmt.Errorf("plan the trials of %s: %w", s.name, err)
		}
		for _, spec := range specs {
			if t := (seeded{spec, config.Seed}); s.chooses(t) {
				all = append(all, t)
			}
		}
		config.Named = false
	}
	return all, nil
}

// planned returns the specs of all trials of a campaign with this configuration. The
// configuration must name exactly one lock.
func planned(ctx context.Context, bed *sim.Testbed, config campaign.Config) ([]trial.Spec, error) {
	p, err := campaign.NewPlanning(bed, config)
	if err != nil {
		return nil, err
	}
	specs, err := p.Look(ctx, bed)
	if err != nil {
		return nil, err
	}
	for _, f := range p.Faults() {
		more, _, err := p.Trials(f)
		if err != nil {
			return nil, err
		}
		specs = append(specs, more...)
	}
	return specs, nil
}

// chooses reports whether a trial is to run: the flags -schedule and -short, and the
// trials that the table and the list name decide.
func (s subject) chooses(t seeded) bool {
	switch {
	case *schedule != "":
		return t.number() == *schedule
	case !testing.Short() || listed[s.line(t)]:
		return true
	case t.Schedule == "" && t.seed == seeds[0] && crc32.ChecksumIEEE([]byte(t.Lock+t.Fault))%12 == 0:
		return true
	}
	return slices.ContainsFunc(s.rows, func(r row) bool { return r.schedule != "" && r.names(t) })
}

// told tells a trial: the verdict of each oracle, then the story.
func told(s seeded, verdicts []checker.Verdict, e history.Evidence) string {
	var b strings.Builder
	fmt.Fprintln(&b, s)
	for _, v := range verdicts {
		fmt.Fprintf(&b, "  %s: %s %s\n", v.Oracle, v.Result, v.Why)
	}
	judged := trial.Result{Spec: s.Spec, Verdicts: verdicts}
	judged.Weigh(nil)
	_ = reports.Tell(&b, judged, e, 0) // a strings.Builder returns no error
	return b.String()
}
