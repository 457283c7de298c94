package campaign

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// Where trials are deterministic, seed and hash in trials.jsonl reproduce every trial. There the
// evidence of a violated trial is stored only if the trial is the first
//
//   - of its recipe, under any fault, to show a flaw that the recipe declares;
//   - of its cell to show an undeclared flaw, or to leave one in doubt;
//   - of its cell to show so bad a verdict, or the first that shows it with a fault that hit
//     something: the report tells the cell's story by it.
//
// The evidence of a trial with an unknown outcome is always stored.

// shown lists, for each recipe, the violated trials whose evidence is stored.
type shown map[string][]keptTrial

// keptTrial is a trial whose evidence is stored, and what it shows.
type keptTrial struct {
	at           order
	inAny, inOne []string // sightings that count for the recipe, and for the cell alone
	order        int      // trial.Result.Order
}

// order is a trial's place among those of its recipe, in about the order in which they run.
type order struct {
	turn            trial.Turn
	place           int // the fault's place in lists; -1 for a fault of another version
	fault, workload string
}

func orderOf(s trial.Spec) order {
	place := slices.IndexFunc(nemesis.All(), func(f nemesis.Fault) bool { return f.Name == s.Fault })
	return order{s.Turn(), place, s.Fault, s.Workload}
}

func (o order) compare(p order) int {
	return cmp.Or(o.turn.Compare(p.turn), cmp.Compare(o.place, p.place), cmp.Compare(o.fault, p.fault), cmp.Compare(o.workload, p.workload))
}

// add notes a violated trial whose evidence is stored.
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

// enough returns what stored trials show already. Only earlier trials count, so that the choice
// does not depend on which trial ended first.
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
