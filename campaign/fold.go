package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// resultRank orders the results of one oracle, worst first.
var resultRank = []checker.Result{checker.Violated, checker.Unknown, checker.Held, checker.NotApplicable}

// fold makes the matrix from plan and results. It is a pure function of the stored campaign and of
// the flaws that recipes declare.
func fold(info Info, dir string, trials []trial.Result) Matrix {
	m := Matrix{
		Schema:  Schema,
		Seed:    info.Config.Seed,
		Testbed: info.Config.Testbed,
		Command: info.Command,
		Store:   dir,
		Cells:   []Cell{},
		Varying: info.Varying,
		Shard:   info.Config.Shard,
	}
	if f := info.Further; f != nil {
		m.Further = &Further{Rounds: f.Rounds, Trials: f.Trials, LastNewFlaw: f.LastNewFlaw}
	}
	// Trials end in any order; the matrix does not depend on it.
	trials = slices.Clone(trials)
	slices.SortStableFunc(trials, func(a, b trial.Result) int {
		return cmp.Or(cmp.Compare(a.Spec.Lock, b.Spec.Lock), cmp.Compare(a.Spec.Fault, b.Spec.Fault), compareTrials(a, b))
	})
	type key struct{ lock, fault string }
	byCell := map[key][]trial.Result{}
	for _, t := range trials {
		k := key{t.Spec.Lock, t.Spec.Fault}
		byCell[k] = append(byCell[k], t)
		if t.Err != "" {
			m.Failed = append(m.Failed, t.Brief())
		}
	}
	unprobed := map[pair]bool{} // pairs whose probe failed, so that no trial followed
	for _, t := range m.Failed {
		if t.Probe {
			unprobed[pair{t.Spec.Lock, t.Spec.Workload}] = true
		}
	}
	for _, p := range info.Plan {
		trials := byCell[key{p.Lock, p.Fault}]
		if m.Shard.Part() && p.InShard == 0 && p.NotSupported == nil && len(trials) == 0 {
			continue // other shards run the cell
		}
		m.Cells = append(m.Cells, foldCell(info, p, trials))
		m.tally(info, p, trials, unprobed)
	}
	m.Interrupted = info.Interrupted || m.Finished < m.Planned
	m.Programs = programFlaws(info, trials)
	m.Unexpected, m.Doubtful = unexpected(trials, m.Programs), doubts(trials)
	m.New, m.Lost, m.Changed = newFacts(info, trials), lostFacts(trials), changedRecipes(trials)
	if !m.Shard.Part() { // another shard may show a flaw that this one misses
		m.Missed = missed(info, trials)
	}
	return m
}

// tally adds a cell's planned and finished trials to the matrix's numbers. No trial follows a failed probe.
func (m *Matrix) tally(info Info, p PlannedCell, trials []trial.Result, unprobed map[pair]bool) {
	if p.NotSupported != nil {
		return
	}
	planned, finished := p.InShard, len(trials)
	if !m.Shard.Part() {
		p.Workloads = slices.DeleteFunc(slices.Clone(p.Workloads), func(w string) bool { return unprobed[pair{p.Lock, w}] })
		planned = info.trialsOf(p)
		for _, t := range trials {
			if unprobed[pair{p.Lock, t.Spec.Workload}] {
				finished--
			}
		}
	}
	m.Planned += planned
	m.Finished += min(finished, planned)
}

// add notes a trial of a campaign with or without a corpus, its flaws and its oracles.
func (c *Cell) add(t trial.Result, corpus bool) {
	// A probe depends on no seed of the campaign, and may be a trial of the corpus.
	if t.Decided() && (t.Spec.Named() || t.Spec.DrawnFrom > 0 || t.Probe && corpus) {
		c.Enumerated++
	}
	if t.Outcome == trial.Unknown && c.UndecidedWhy == "" {
		c.UndecidedWhy, c.UndecidedDir = why(t), t.Dir
	}
	c.Flaws = trial.Distinct(append(c.Flaws, t.Flaws...))
	for _, v := range t.Verdicts {
		c.Oracles[v.Oracle] = worse(c.Oracles[v.Oracle], string(v.Result))
	}
}

// foldCell sums up a cell's trials, which are sorted worst first. The worst trial decides the cell's
// verdict. If the worst is NotExercised, a trial in which the lock held decides, if there is one.
func foldCell(info Info, p PlannedCell, trials []trial.Result) Cell {
	c := Cell{Lock: p.Lock, Fault: p.Fault, Causes: []string{}, Oracles: map[string]string{}, Varies: info.varies(p.Lock)}
	switch {
	case p.NotSupported != nil:
		c.Verdict, c.Lack, c.Why = trial.NotSupported, p.NotSupported, p.NotSupported.Error()
	case len(trials) == 0:
		c.Verdict, c.Why = trial.Unknown, "no trial was run"
	}
	if len(trials) == 0 {
		return c
	}
	all := info.Further.of(p.Lock, p.Fault) // those that are not stored, and then the stored ones
	for _, t := range trials {
		c.add(t, info.Config.Corpus)
		all.count(t)
	}
	for _, f := range c.Flaws {
		if !slices.Contains(c.Causes, f.Cause) {
			c.Causes = append(c.Causes, f.Cause)
		}
	}
	worst := trials[0]
	c.Verdict, c.Kind = worst.Outcome, worst.Kind
	if len(worst.Flaws) > 0 {
		c.Forever = worst.Flaws[0].Forever
	}
	// Trials whose fault hit nothing do not weaken the verdict of the others: Cell.Bound ignores them.
	if c.Verdict == trial.NotExercised {
		if i := slices.IndexFunc(trials, func(t trial.Result) bool { return t.Outcome == trial.Holds }); i >= 0 {
			worst = trials[i]
			c.Verdict = trial.Holds
		}
	}
	c.Trials, c.Exercised, c.Undecided = all.Trials, all.Exercised, all.Undecided
	c.Violations, c.Unstruck, c.Shown = all.Violations, all.Unstruck, all.Ranks[worst.Rank()]
	c.cover(info, trials, all)
	c.Why, c.Lack, c.Dir, c.Seed = why(worst), worst.Lack, worst.Dir, worst.Spec.Seed
	if info.Deterministic && !c.Varies {
		c.Hash = worst.Hash
	}
	c.Replay = replay(info, worst)
	return c
}

// why says in a sentence why the outcome of a trial is unknown. For other outcomes, it returns
// Result.Err or else Result.Why, which may be "".
func why(t trial.Result) string {
	if t.Outcome == trial.Unknown && t.Err == "" {
		for _, v := range t.Verdicts {
			if v.Result == checker.Unknown {
				return v.Oracle + ": " + v.Why
			}
		}
	}
	return cmp.Or(t.Err, t.Why)
}

// Words returns the cell's verdict in words for a reader.
func (c Cell) Words() string {
	switch c.Verdict {
	case trial.Violated:
		return "violated: " + cmp.Or(string(c.Kind), "undeclared")
	case trial.Blocked:
		if c.Forever {
			return "blocked for ever"
		}
		return "blocked up to TTL"
	case trial.NotExercised:
		return "fault not exercised"
	case trial.NotSupported:
		return "not supported"
	case trial.Holds:
		return fmt.Sprintf("no violation in %d %s", c.Exercised, wording.Plural(c.Exercised, "trial"))
	}
	return string(c.Verdict)
}

// FewTrials is the minimum number of drawn trials for showing a bound.
const FewTrials = 10

// Bound is the upper end of the 95 % confidence interval of the share of violated trials, given
// that none of n drawn trials was violated: 1 − 0.05^(1/n). For large n this is about 3/n, the rule
// of three.
func (c Cell) Bound() float64 {
	if c.Drawn() == 0 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(c.Drawn()))
}

// Drawn counts the exercised trials that depend on a seed.
func (c Cell) Drawn() int { return c.Exercised - c.Enumerated }

// Bounded says whether enough trials were drawn to show the bound.
func (c Cell) Bounded() bool { return c.Drawn() >= FewTrials }

// BoundWords returns the bound in words for a reader.
func (c Cell) BoundWords() string {
	if !c.Bounded() {
		return "too few trials for a bound"
	}
	return fmt.Sprintf("95 %% bound: at most %.2g %% of trials", 100*c.Bound())
}

// BoundSentence returns the bound in a sentence for a reader.
func (c Cell) BoundSentence() string {
	if !c.Bounded() {
		return fmt.Sprintf("%d %s drawn by a seed: too few to say how often others would show one.", c.Drawn(), map[bool]string{true: "was", false: "were"}[c.Drawn() == 1])
	}
	return fmt.Sprintf("%d were drawn by a seed: with 95 %% confidence, at most %.2g of 100 trials drawn like them would show one.", c.Drawn(), 100*c.Bound())
}

// compareTrials orders the trials of a cell. The trial that shows the cell's verdict best comes
// first; among equals, the earliest, with named trials before drawn ones.
func compareTrials(a, b trial.Result) int {
	return cmp.Or(
		a.Order()-b.Order(),
		-cmp.Compare(a.Err, b.Err), // among unknown outcomes, failed trials come first
		headline(b)-headline(a),    // the corpus has its smallest version
		a.Spec.Turn().Compare(b.Spec.Turn()),
		cmp.Compare(a.Spec.Workload, b.Spec.Workload),
	)
}

// headline returns 1 for the trial that the corpus has for the cell, else 0.
func headline(t trial.Result) int {
	if t.Headline {
		return 1
	}
	return 0
}

// worse returns the worse of two results of one oracle; "" is better than any.
func worse(a, b string) string {
	at := func(r string) int {
		if i := slices.Index(resultRank, checker.Result(r)); i >= 0 {
			return i
		}
		return len(resultRank)
	}
	if at(b) < at(a) {
		return b
	}
	return a
}
