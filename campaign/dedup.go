package campaign

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// On deterministic testbeds, seed and hash in trials.jsonl reproduce every trial. So the evidence
// of a violated trial is stored only if the trial
//
//   - shows a declared flaw that no earlier trial of its recipe showed, under any fault;
//   - shows an undeclared flaw, or leaves one in doubt, and no earlier trial of its cell did so;
//   - shows its cell's verdict better than every earlier trial of the cell (trial.Result.Order):
//     the report illustrates the verdict with it.
//
// The evidence of a trial with an unknown outcome is always stored.

// shown lists, for each recipe, the violated trials whose evidence is stored.
type shown map[string][]keptTrial

// keptTrial is a trial whose evidence is stored, with the flaws that it showed.
type keptTrial struct {
	at order
	// Flaws, as texts made by Result.Sightings. inAny are declared flaws: no trial of the recipe needs
	// to show them again. inOne are undeclared flaws and doubts about such flaws: no trial of this
	// cell needs to show them again.
	inAny, inOne []string
	order        int // trial.Result.Order
}

// order is a trial's place among the trials of its recipe, in about the order in which they run.
type order struct {
	turn            trial.Turn
	place           int // index in nemesis.All; -1 = this version does not have the fault
	fault, workload string
}

func orderOf(s trial.Spec) order {
	place := slices.IndexFunc(nemesis.All(), func(f nemesis.Fault) bool { return f.Name == s.Fault })
	return order{s.Turn(), place, s.Fault, s.Workload}
}

func (o order) compare(p order) int {
	return cmp.Or(o.turn.Compare(p.turn), cmp.Compare(o.place, p.place), cmp.Compare(o.fault, p.fault), cmp.Compare(o.workload, p.workload))
}

// add notes a violated trial whose evidence is stored. It ignores other trials.
func (s *shown) add(t trial.Result) {
	if t.Dir == "" || !t.Violation() {
		return
	}
	if *s == nil {
		*s = shown{}
	}
	inAny, inOne := t.Sightings()
	(*s)[t.Spec.Lock] = append((*s)[t.Spec.Lock], keptTrial{orderOf(t.Spec), inAny, inOne, t.Order()})
}

// enough returns the flaws that stored trials before spec have already shown. Later trials do not
// count, so that the choice does not depend on which trial ended first.
func (s shown) enough(spec trial.Spec) (all trial.Shown) {
	at := orderOf(spec)
	for _, x := range s[spec.Lock] {
		if x.at.compare(at) >= 0 {
			continue
		}
		all.Flaws = append(all.Flaws, x.inAny...)
		if x.at.fault != spec.Fault {
			continue
		}
		all.Flaws = append(all.Flaws, x.inOne...)
		if all.Order == nil || x.order < *all.Order {
			all.Order = &x.order
		}
	}
	slices.Sort(all.Flaws)
	all.Flaws = slices.Compact(all.Flaws)
	return all
}

// enough returns what stored trials already show, for trial.Task.Enough: a trial that shows no more
// is not stored. It returns the zero value if trials are not deterministic.
func (r *run) enough(s trial.Spec) (none trial.Shown) {
	if !r.info.Deterministic {
		return none
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shown.enough(s)
}

// shownBefore says whether stored trials already show everything that t shows. Then t's evidence is
// not needed, even if it was kept because t is to be repeated. The caller holds mu.
func (r *run) shownBefore(t trial.Result) bool {
	return r.info.Deterministic && !t.ShowsMore(r.shown.enough(t.Spec))
}
