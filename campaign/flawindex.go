package campaign

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// ShownFlaw is a flaw that a cell showed, with the first trial that showed it, preferably a
// named one.
type ShownFlaw struct {
	Lock, Fault, Oracle, Cause string
	Kind                       locks.Kind
	Trial                      trial.Result
	// Replay is the command line that runs the trial again.
	Replay string
}

// ShownFlaws lists each flaw of each cell once, sorted by lock, fault, oracle and cause. The list
// does not depend on the order in which trials ended.
func (s Stored) ShownFlaws() []ShownFlaw {
	first := map[cellFlaw]trial.Result{}
	for _, t := range s.Trials {
		for _, f := range t.Flaws {
			at := cellFlaw{t.Spec.Lock, t.Spec.Fault, f.Oracle, f.Cause}
			if was, ok := first[at]; !ok || orderOf(t.Spec).compare(orderOf(was.Spec)) < 0 {
				first[at] = t
			}
		}
	}
	all := make([]ShownFlaw, 0, len(first))
	for at, t := range first {
		i := slices.IndexFunc(t.Flaws, func(f trial.Flaw) bool { return f.Oracle == at.oracle && f.Cause == at.cause })
		all = append(all, ShownFlaw{
			Lock: at.lock, Fault: at.fault, Oracle: at.oracle, Cause: at.cause,
			Kind: t.Flaws[i].Kind, Trial: t, Replay: replay(s.Info, t),
		})
	}
	slices.SortFunc(all, func(a, b ShownFlaw) int {
		return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Oracle, b.Oracle), cmp.Compare(a.Cause, b.Cause))
	})
	return all
}

// Example returns the shown flaw that best illustrates a declared flaw of a lock: under the
// first fault of f.Faults that showed it, else of f.Also, else in a mix that contains one
// of these faults.
func Example(shown []ShownFlaw, lock string, f locks.Flaw) (ShownFlaw, bool) {
	its := slices.Concat(f.Faults, f.Also)
	rank := func(e ShownFlaw) int {
		switch i := slices.Index(its, e.Fault); {
		case i >= 0:
			return i
		case nemesis.Mixes(e.Fault) && slices.ContainsFunc(e.Trial.Spec.Plan.Faults(), func(f string) bool { return slices.Contains(its, f) }):
			return len(its)
		}
		return -1
	}
	var best ShownFlaw
	found := false
	for _, e := range shown {
		if e.Lock != lock || e.Oracle != f.Oracle || e.Cause != f.Cause || rank(e) < 0 {
			continue
		}
		if !found || rank(e) < rank(best) {
			best, found = e, true
		}
	}
	return best, found
}
