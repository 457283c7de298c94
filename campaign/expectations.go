package campaign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// unexpected lists violations that the recipe does not declare for the fault, and violations by the
// clients' program that its workload does not declare: each once, with the first trial that showed it.
func unexpected(trials []trial.Result, programs []ProgramFlaw) []Discrepancy {
	all := discrepancies(trials, func(t trial.Result) []trial.Flaw { return undeclared(t.Flaws) })
	for _, p := range programs {
		if !p.Declared {
			all = append(all, discrepancy(p.first, trial.Flaw{Oracle: p.Oracle, Cause: p.Cause}))
		}
	}
	slices.SortStableFunc(all, compareDiscrepancies)
	return all
}

// newFacts lists the flaws that the corpus does not have in their cells: each once, with the first
// trial that showed it.
func newFacts(info Info, trials []trial.Result) []Discrepancy {
	return discrepancies(trials, func(t trial.Result) []trial.Flaw { return t.New }, func(d *Discrepancy, t trial.Result) { d.Replay = replay(info, t) })
}

// discrepancies lists some flaws of the trials, each once in its cell, with the first trial that showed it.
func discrepancies(trials []trial.Result, some func(trial.Result) []trial.Flaw, with ...func(*Discrepancy, trial.Result)) (all []Discrepancy) {
	for _, t := range trials {
		for _, f := range some(t) {
			d := discrepancy(t, f)
			if slices.ContainsFunc(all, func(o Discrepancy) bool { return compareDiscrepancies(o, d) == 0 }) {
				continue
			}
			for _, add := range with {
				add(&d, t)
			}
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, compareDiscrepancies)
	return all
}

func discrepancy(t trial.Result, f trial.Flaw) Discrepancy {
	return Discrepancy{Lock: t.Spec.Lock, Fault: t.Spec.Fault, Oracle: f.Oracle, Cause: f.Cause, Dir: t.Dir}
}

// lostFacts lists the facts of the corpus that did not come out.
func lostFacts(trials []trial.Result) (all []LostFact) {
	for _, t := range trials {
		for _, f := range t.Missing {
			all = append(all, LostFact{t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, t.Spec.Title(), f})
		}
	}
	return all
}

// changedRecipes counts the trials of the corpus that have other histories than when it was made, by recipe.
func changedRecipes(trials []trial.Result) (all []Changed) {
	for _, t := range trials {
		if !t.Changed {
			continue
		}
		i := slices.IndexFunc(all, func(c Changed) bool { return c.Lock == t.Spec.Lock })
		if i < 0 {
			i, all = len(all), append(all, Changed{Lock: t.Spec.Lock})
		}
		if all[i].Trials++; t.Probe {
			all[i].Probes++
		}
	}
	slices.SortFunc(all, func(a, b Changed) int { return cmp.Compare(a.Lock, b.Lock) })
	return all
}

// missed lists the declared flaws that did not show. Where trials are deterministic and
// the named schedules ran, a flaw must show under each fault that it is declared for;
// elsewhere under at least one. In a mix of faults nothing is missed: chance decides
// which faults coincide.
func missed(info Info, trials []trial.Result) []Discrepancy {
	h := huntOf(info, trials)
	all := h.unconfirmed()
	for _, r := range locks.All() {
		for _, f := range r.Flaws {
			all = append(all, h.misses(r.ID, f)...)
		}
	}
	all = append(all, h.missedOfPrograms(trials)...)
	for i := range all {
		all[i].Hidden = !info.Deterministic && slices.ContainsFunc(trials, all[i].mayHide)
	}
	slices.SortStableFunc(all, compareDiscrepancies)
	return all
}

// mayHide says whether the trial could have shown the missed flaw but was inconclusive: the trial was
// spoilt, or the flaw's oracle could not tell whether or why it was violated.
func (s Discrepancy) mayHide(t trial.Result) bool {
	if t.Spec.Lock != s.Lock || !slices.Contains(strings.Split(s.Fault, ","), t.Spec.Fault) {
		return false
	}
	perhaps := func(f checker.Finding) bool { return string(f.Cause) == s.Cause || f.Cause == checker.Unclassified }
	return t.Spoilt || slices.ContainsFunc(t.Verdicts, func(v checker.Verdict) bool {
		return v.Oracle == s.Oracle && (v.Result == checker.Unknown && len(v.Doubtful) == 0 ||
			slices.ContainsFunc(v.Doubtful, perhaps) || slices.ContainsFunc(v.Findings, perhaps))
	})
}

// hunt indexes what a campaign's trials found and judged.
type hunt struct {
	info Info
	// flaws has the flaws that a cell showed; oracles has the oracles that judged a trial of the
	// cell.
	flaws   map[cellFlaw]bool
	oracles map[cellFlaw]bool
	// finished counts, for each cell, the planned trials that finished.
	finished map[cellFlaw]int
}

// cellFlaw is the key of hunt's maps: a cell and, where the map needs them, an oracle and a cause.
type cellFlaw struct{ lock, fault, oracle, cause string }

func huntOf(info Info, trials []trial.Result) hunt {
	h := hunt{info: info, flaws: map[cellFlaw]bool{}, oracles: map[cellFlaw]bool{}, finished: map[cellFlaw]int{}}
	for _, t := range trials {
		cell := cellFlaw{lock: t.Spec.Lock, fault: t.Spec.Fault}
		if t.Err == "" {
			h.finished[cell]++
		}
		for _, v := range t.Verdicts {
			if v.Result != checker.NotApplicable {
				h.oracles[cellFlaw{cell.lock, cell.fault, v.Oracle, ""}] = true
			}
		}
		for _, f := range t.Flaws {
			h.flaws[cellFlaw{cell.lock, cell.fault, f.Oracle, f.Cause}] = true
		}
	}
	return h
}

// misses returns a declared flaw of a lock for each fault under which it should have shown but did
// not. Where the flaw need show under only one fault, misses returns one entry with all faults.
func (h hunt) misses(lock string, f locks.Flaw) []Discrepancy {
	var under []string
	shown := false
	for _, p := range h.info.Plan {
		switch {
		case h.info.Config.Confirm != "": // unconfirmed lists the missed flaws
		case !h.info.asDeclared():
		case p.Lock != lock || !slices.Contains(f.Faults, p.Fault) || nemesis.Mixes(p.Fault):
		case h.flaws[cellFlaw{lock, p.Fault, f.Oracle, f.Cause}]:
			shown = true
		case h.looked(p, f.Oracle):
			under = append(under, p.Fault)
		}
	}
	if !h.info.thorough() {
		if shown || len(under) == 0 {
			return nil
		}
		under = []string{strings.Join(under, ",")}
	}
	var all []Discrepancy
	for _, fault := range under {
		all = append(all, Discrepancy{Lock: lock, Fault: fault, Oracle: f.Oracle, Cause: f.Cause})
	}
	return all
}

// looked says whether a cell was run to its end, with all default workloads or with something for
// the oracle to judge. Other workloads may give an oracle nothing to judge: then its flaws are not
// missed.
func (h hunt) looked(p PlannedCell, oracle string) bool {
	if p.NotSupported != nil || h.finished[cellFlaw{lock: p.Lock, fault: p.Fault}] < h.info.trialsOf(p) {
		return false
	}
	return h.info.everyWorkload() || h.oracles[cellFlaw{p.Lock, p.Fault, oracle, ""}]
}

// thorough says whether a flaw must show under every fault that it is declared for: trials are
// deterministic, and the named schedules ran, or the corpus with its own options.
func (i Info) thorough() bool {
	return i.Deterministic && (i.Config.Named || i.Config.Corpus && !i.Adapted)
}

// trialsOf returns the number of trials of a cell in a complete run.
func (i Info) trialsOf(p PlannedCell) int {
	if i.Config.Confirm != "" {
		return p.Named
	}
	return i.drawnOf(p) + p.Named
}

// drawnOf returns the number of drawn trials of a cell in a complete run. Until the probes have run,
// and in campaigns that older versions stored, the plan does not have the number.
func (i Info) drawnOf(p PlannedCell) int {
	if p.Drawn == 0 && !i.Config.Corpus {
		return i.Config.Trials * len(p.Workloads)
	}
	return p.Drawn + p.Corpus
}

// asDeclared says whether clients run at least the default workloads, with the default
// command timeout. Declarations assume both: otherwise the absence of a flaw means nothing.
func (i Info) asDeclared() bool {
	return i.everyWorkload() && i.Config.commandTimeout() == i.Config.TTL/2
}

// everyWorkload says whether all default workloads run.
func (i Info) everyWorkload() bool {
	return slices.Contains(i.Config.Workloads, allNames) || slices.Contains(i.Config.Workloads, standardNames)
}

func compareDiscrepancies(a, b Discrepancy) int {
	return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Oracle, b.Oracle), cmp.Compare(a.Cause, b.Cause))
}

// TooFew returns the number of trials that ran under a missed flaw's faults, if too few were drawn to run every
// variant of their plans; else 0.
func (s Stored) TooFew(missed Discrepancy) int {
	faults := strings.Split(missed.Fault, ",")
	short := slices.ContainsFunc(s.Info.Plan, func(p PlannedCell) bool {
		return p.Lock == missed.Lock && slices.Contains(faults, p.Fault) && p.Variants > cmp.Or(s.Info.Config.Trials, p.Drawn/max(1, len(p.Workloads)))
	})
	if !short {
		return 0
	}
	n := 0
	for _, t := range s.Trials {
		if t.Spec.Lock == missed.Lock && slices.Contains(faults, t.Spec.Fault) {
			n++
		}
	}
	return n
}
