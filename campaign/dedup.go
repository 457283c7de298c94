package campaign

import (
	"slices"

	"github.com/lockstorm/lockstorm/trial"
)

// Where trials are deterministic, the evidence of a violated trial is stored only if it
// is the first of its cell to show these flaws: seed and hash in trials.jsonl reproduce
// the others. The evidence of a trial with an unknown outcome is always stored.

// shown maps each sighting to the turns of the trials whose evidence is stored.
type shown map[sighting][]trial.Turn

// sighting is what a trial of a cell shows (trial.Result.Shows).
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

// enough lists what stored trials of the cell show. Only earlier turns count, so that the
// choice does not depend on which trial ended first.
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
