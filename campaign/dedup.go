package campaign

import (
	"slices"

	"github.com/lockstorm/lockstorm/trial"
)

// Where trials can be run again, the evidence of a violated trial is stored only
// if it is the first of its cell to show just these flaws: the line in
// trials.jsonl, with seed and hash, gives back that of the others. Of a trial
// whose outcome is unknown it is always stored.

// shown are the turns of the trials whose evidence is stored, by what they show.
type shown map[sighting][]trial.Turn

// sighting is something that a cell shows.
type sighting struct{ lock, fault, what string }

func (s *shown) add(t trial.Result) {
	if t.Dir == "" || !t.Violation() {
		return
	}
	if *s == nil {
		*s = shown{}
	}
	e := sighting{t.Spec.Lock, t.Spec.Fault, t.Shows()}
	(*s)[e] = append((*s)[e], t.Spec.Turn())
}

// enough lists what was shown before this trial. Only earlier trials count: which
// of them stands for a cell must not depend on which came to its end first.
func (s shown) enough(spec trial.Spec) []string {
	var all []string
	for e, trials := range s {
		if e.lock != spec.Lock || e.fault != spec.Fault {
			continue
		}
		if slices.ContainsFunc(trials, func(t trial.Turn) bool { return t.Compare(spec.Turn()) < 0 }) {
			all = append(all, e.what)
		}
	}
	slices.Sort(all)
	return all
}
