package campaign

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// Named schedules alone, without a seed, find every flaw that a recipe declares, under each fault
// for which it is declared, and no other flaw. No verdict is unknown, unless the code under test
// ended the trial.
func TestNamedSchedulesAloneFindEveryDeclaredFlaw(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make thorough runs it")
	}
	c := DefaultConfig()
	c.Testbed, c.Store, c.Parallel = "sim", t.TempDir(), runtime.GOMAXPROCS(0)
	c.Named, c.NamedOnly, c.Expect = true, true, true
	c.Locks = nil
	for _, r := range locks.All() {
		if !strings.HasPrefix(r.ID, "test-") { // other tests register recipes with this prefix
			c.Locks = append(c.Locks, r.ID)
		}
	}
	t.Setenv(trialtest.AsWorker, "1")                                                  // worker processes have a garbage collector tuned for trials
	whole := &making{specs: map[corpus.Key]trial.Spec{}, draws: map[cellFlaw][2]int{}} // the stored results are brief
	s, err := Campaign{
		Config: c, Testbed: sim.New(), Worker: []string{os.Args[0]}, NewSink: func(string) (Sink, error) { return whole, nil },
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := s.Matrix
	for _, x := range m.Missed {
		t.Errorf("not found: %s under %s: %s (%s)", x.Lock, x.Fault, x.Oracle, x.Cause)
	}
	for _, x := range m.Unexpected {
		t.Errorf("not declared: %s under %s: %s (%s), as in %s", x.Lock, x.Fault, x.Oracle, x.Cause, x.Dir)
	}
	for _, result := range s.Trials {
		for _, v := range result.Verdicts {
			if ended := func(f account.Fact) bool { return f.What == account.EndedByCode }; v.Result == checker.Unknown && !slices.ContainsFunc(v.Reasons, ended) {
				t.Errorf("%s of %s under %s: %s is unknown: %s", result.Spec.Title(), result.Spec.Lock, result.Spec.Fault, v.Oracle, v.Why)
			}
		}
	}
	if code := m.ExitCode(true); code != ExitExpected && !t.Failed() {
		t.Errorf("ends with %d, want %d", code, ExitExpected)
	}
	if drawn := slices.ContainsFunc(s.Trials, func(t trial.Result) bool { return !t.Spec.Named() && !t.Probe }); drawn {
		t.Error("trials were drawn")
	}
	namedSchedulesBite(t, s)
	otherRecipesKnowWhatTeaches(t, whole)
	t.Logf("%d trials", len(s.Trials))
}

// otherRecipesKnowWhatTeaches checks how much the named schedules that locktest runs first show of a lock that is
// not in the corpus: each recipe is left out in turn, and its named trials of each fault are sorted by what such
// trials showed of the other recipes. Their first quarter, which locktest runs with -short, shows most of what all
// of them show.
func otherRecipesKnowWhatTeaches(t *testing.T, m *making) {
	t.Helper()
	cells := map[[2]string][]corpus.Candidate{}
	for _, c := range m.candidates {
		if c.Line.Schedule != "" {
			of := [2]string{c.Line.Lock, c.Line.Fault}
			cells[of] = append(cells[of], c)
		}
	}
	var all, first share
	recipes := map[string]*share{}
	orders := map[string]*memory{}
	for of, trials := range cells {
		if orders[of[0]] == nil {
			others := slices.DeleteFunc(slices.Clone(m.candidates), func(c corpus.Candidate) bool { return c.Line.Lock == of[0] })
			orders[of[0]] = &memory{rank: ranks(corpus.Order(others))}
		}
		// Schedules that taught nothing come last, here in the order of their names.
		slices.SortFunc(trials, func(a, b corpus.Candidate) int { return strings.Compare(a.Line.Title(), b.Line.Title()) })
		facts := map[corpus.Key][]string{}
		var specs []trial.Spec
		for _, c := range trials {
			facts[c.Line.Key()] = c.Facts
			specs = append(specs, m.specs[c.Line.Key()])
		}
		orders[of[0]].sort(specs)
		shown := func(specs []trial.Spec) int {
			known := map[string]bool{}
			for _, spec := range specs {
				for _, f := range facts[corpus.KeyOf(spec)] {
					known[f] = true
				}
			}
			return len(known)
		}
		if recipes[of[0]] == nil {
			recipes[of[0]] = new(share)
		}
		whole := shown(specs)
		for _, sum := range []*share{&all, recipes[of[0]]} {
			sum.add(shown(specs[:(len(specs)+3)/4]), whole)
		}
		first.add(shown(specs[:(len(specs)+6)/7]), whole)
	}
	worst := share{1, 1}
	for _, r := range recipes {
		if r.part() < worst.part() {
			worst = *r
		}
	}
	t.Logf("of what all named schedules show of a recipe that is left out, the first quarter shows %.1f %% (worst recipe %.1f %%), the first seventh %.1f %%",
		100*all.part(), 100*worst.part(), 100*first.part())
	if !(all.part() >= 0.85) { // also without any fact
		t.Errorf("the first quarter shows %d of %d facts: want 85 %%", all.some, all.whole)
	}
}

// share is a part of a whole, in facts.
type share struct{ some, whole int }

func (s *share) add(some, whole int) { s.some, s.whole = s.some+some, s.whole+whole }

func (s *share) part() float64 { return float64(s.some) / float64(s.whole) }

// namedSchedulesBite checks that, for each recipe and each fault, at least a third of the named
// schedules hit something. Not all can. For example, a wrong clock within a critical section hits
// only if the client reads its clock again, and a new primary seldom lacks a write.
func namedSchedulesBite(t *testing.T, s Stored) {
	t.Helper()
	ran, bit := map[cellFlaw]int{}, map[cellFlaw]int{}
	for _, x := range s.Trials {
		fault, _ := nemesis.ByName(x.Spec.Fault)
		recipe, _ := locks.ByID(x.Spec.Lock)
		// If no client ever acquires the lock, no client reaches the places at which most named
		// schedules strike.
		_, never := recipe.Declares("liveness", string(checker.NoExpiry), undisturbed)
		if !x.Spec.Named() || fault.Undisturbed || never {
			continue
		}
		of := cellFlaw{lock: x.Spec.Lock, fault: x.Spec.Fault}
		ran[of]++
		if x.Hits > 0 {
			bit[of]++
		}
	}
	if len(ran) < 250 {
		t.Errorf("%d cells have named schedules: want a few hundred", len(ran))
	}
	for of, n := range ran {
		if 3*bit[of] < n {
			t.Errorf("%s under %s: %d of %d schedules struck something, want a third", of.lock, of.fault, bit[of], n)
		}
	}
}

func TestNamedOnlyMeansThatNothingIsDrawn(t *testing.T) {
	drawn, _ := namedJobs(t, func(c *Config) { c.Named = false }, trialtest.Sound)
	if named := onlyNamed(drawn); len(named) > 0 || len(drawn) != 3 {
		t.Errorf("without named ones: %d named of %d trials, want none of 3", len(named), len(drawn))
	}
	jobs, cells := namedJobs(t, func(c *Config) { c.NamedOnly, c.Trials = true, 0 }, trialtest.Sound)
	if len(jobs) == 0 || len(onlyNamed(jobs)) != len(jobs) {
		t.Errorf("%d of %d trials are named, want some and all", len(onlyNamed(jobs)), len(jobs))
	}
	for _, p := range planned(cells) {
		if p.NotSupported != nil {
			t.Errorf("%s under %s is not supported: %s", p.Lock, p.Fault, p.NotSupported.Words())
		}
	}
}
