package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/trial"
)

// A violation proves nothing if a stall of the harness, or an election that no fault
// provoked, may have caused it, or if it depends on a reply that nobody saw. But an
// undeclared violation must not vanish because the machine was busy: its trial is run
// again, and the last run counts.

// Doubt is a possible, undeclared violation in a cell: every trial that showed it has an
// excuse (Excuse).
type Doubt struct {
	Lock  string
	Fault string
	Flaws []trial.Flaw // worst first
	Dir   string       // folder of the first trial that showed the doubt, relative to the campaign; "" if not kept
}

// Excuse names the possible causes of a violation in doubt.
const Excuse = "possible other causes are a stall of the machine, an election that no fault caused, or an unobserved reply"

// Hiding names the possible reasons why a declared flaw does not show.
const Hiding = "the trials that could show it are undecided, or were disturbed by a stall of the machine or by an election that no fault caused"

// Words returns the doubt as a sentence without a full stop.
func (d Doubt) Words() string {
	var names []string
	for _, f := range d.Flaws {
		names = append(names, fmt.Sprintf("%s by %s", f.Oracle, f.Cause))
	}
	return strings.Join(names, ", ") + " in doubt, not declared: " + Excuse + "; no run without these settled it"
}

// undeclared returns the flaws that the recipe does not declare.
func undeclared(flaws []trial.Flaw) (some []trial.Flaw) {
	for _, f := range flaws {
		if f.Kind == "" {
			some = append(some, f)
		}
	}
	return some
}

// inDoubt says whether t leaves an undeclared flaw in doubt that no trial of its cell has shown.
func inDoubt(t trial.Result, trials []trial.Result) bool { return len(doubtful(t, trials)) > 0 }

// doubtful returns the undeclared flaws that t leaves in doubt, without those that a trial of its cell has shown.
func doubtful(t trial.Result, trials []trial.Result) []trial.Flaw {
	return slices.DeleteFunc(undeclared(t.Doubtful), func(f trial.Flaw) bool {
		return slices.ContainsFunc(t.Flaws, f.Same) || slices.ContainsFunc(trials, func(o trial.Result) bool {
			return o.Spec.Lock == t.Spec.Lock && o.Spec.Fault == t.Spec.Fault && slices.ContainsFunc(o.Flaws, f.Same)
		})
	})
}

// doubts lists the flaws in doubt, one entry for each cell.
func doubts(trials []trial.Result) []Doubt {
	var all []Doubt
	for _, t := range trials {
		flaws := doubtful(t, trials)
		if len(flaws) == 0 {
			continue
		}
		i := slices.IndexFunc(all, func(d Doubt) bool { return d.Lock == t.Spec.Lock && d.Fault == t.Spec.Fault })
		if i < 0 {
			i, all = len(all), append(all, Doubt{Lock: t.Spec.Lock, Fault: t.Spec.Fault, Dir: t.Dir})
		}
		all[i].Flaws = trial.Distinct(slices.Concat(all[i].Flaws, flaws))
	}
	slices.SortStableFunc(all, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.Fault, b.Fault))
	})
	return all
}
