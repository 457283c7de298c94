package campaign

import (
	"slices"

	"github.com/lockstorm/lockstorm/trial"
)

// Where trials are deterministic, the evidence of a violated trial is stored only if the trial
// is the first of its cell to show one of its flaws: seed and hash in trials.jsonl reproduce the
// others. The evidence of a trial with an unknown outcome is always stored.

// shown maps each sighting to the turns of the trials whose evidence is stored.
type shown map[sighting][]trial.Turn

// sighting is a flaw that a trial of a cell shows (one of trial.Result.Sightings).
type sighting struct{ lock, fault, flaw string }

func (s *shown) add(t trial.Result) {
	if t.Dir == "" || !t.Violation() {
		return
	}
	if *s == nil {
		*s = shown{}
	}
	for _, flaw := range t.Sightings() {
		e := sighting{t.Spec.Lock, t.Spec.Fault, flaw}
		(*s)[e] = append((*s)[e], t.Spec.Turn())
	}
}

// enough lists the flaws that stored trials of the cell show. Only earlier turns count, so that
// the choice does not depend on which trial ended first.
func (s shown) enough(spec trial.Spec) []string {
	var all []string
	for e, trials := range s {
		if e.lock != spec.Lock || e.fault != spec.Fault {
			continue
		}
		if slices.ContainsFunc(trials, func(t trial.Turn) bool { return t.Compare(spec.Turn()) < 0 }) {
			all = append(all, e.flaw)
		}
	}
	slices.Sort(all)
	return all
}
