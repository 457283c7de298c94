package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/trial"
)

// A violation proves nothing if a stall of the harness, or an election that no fault
// provoked, may have caused it, or if it depends on a reply that nobody saw. But an
// undeclared violation must not vanish because the machine was busy: its trial is run
// again, and an undisturbed run settles the doubt.

// Doubt is a possible, undeclared violation in a cell: every trial that showed it has an
// excuse (Excuse).
type Doubt struct {
	Lock  string
	Fault string
	Flaws []trial.Flaw // worst first
	Dir   string       // folder of the first trial that showed the doubt, relative to the campaign; "" if not kept
	// Settled: a later run of the trial was conclusive and did not show the flaws.
	Settled bool
}

// Excuse names the possible causes of a violation in doubt.
const Excuse = "possible other causes are a stall of the machine, an election that no fault caused, or an unobserved reply"

// Hiding names the possible reasons why a declared flaw does not show.
const Hiding = "the trials that could show it are undecided, or were disturbed by a stall of the machine or by an election that no fault caused"

// Words returns the doubt as a sentence without a full stop.
func (d Doubt) Words() string {
	if d.Settled {
		return d.names() + " showed in a run, not declared: " + Excuse + "; the same trial, run again without these, did not show it"
	}
	return d.names() + " in doubt, not declared: " + Excuse + "; no run without these settled it"
}

// names lists the flaws with their causes.
func (d Doubt) names() string {
	var names []string
	for _, f := range d.Flaws {
		names = append(names, fmt.Sprintf("%s by %s", f.Oracle, f.Cause))
	}
	return strings.Join(names, ", ")
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

// inherit adds to t the doubts of t's previous run that t does not settle. If an undeclared flaw is
// then in doubt, the outcome is unknown, unless t shows a violation.
func inherit(t *trial.Result) {
	if n := len(t.Runs); n > 0 {
		for _, f := range t.Runs[n-1].Doubtful {
			if !settles(*t, f) {
				t.Doubtful = append(t.Doubtful, f)
			}
		}
		t.Doubtful = trial.Distinct(t.Doubtful)
	}
	// While an undeclared flaw is in doubt, the absence of violations does not mean that the lock
	// holds.
	if len(undeclared(t.Doubtful)) > 0 && !t.Violation() && t.Outcome != trial.Unknown {
		t.Outcome, t.Why = trial.Unknown, Doubt{Flaws: undeclared(t.Doubtful)}.Words()
	}
}

// settles says whether t resolves the doubt about a flaw: t shows the flaw beyond doubt, or
// is conclusive and does not show it.
func settles(t trial.Result, f trial.Flaw) bool {
	if slices.ContainsFunc(t.Flaws, f.Same) {
		return true
	}
	if t.Spoilt || t.Err != "" || !t.Exercised() || slices.ContainsFunc(t.Doubtful, f.Same) {
		return false
	}
	unclassified := func(f checker.Finding) bool { return f.Cause == checker.Unclassified } // it may be the flaw f
	return slices.ContainsFunc(t.Verdicts, func(v checker.Verdict) bool {
		switch {
		case v.Oracle != f.Oracle:
			return false
		case v.Result == checker.Held:
			return true
		case v.Result == checker.Violated:
			return !slices.ContainsFunc(v.Findings, unclassified)
		}
		return len(v.Doubtful) > 0 && !slices.ContainsFunc(v.Doubtful, unclassified)
	})
}

// inDoubt says whether t leaves an undeclared flaw in doubt. A flaw is no longer in doubt
// if a trial of its cell has shown it or a later attempt has settled it.
func inDoubt(t trial.Result, trials []trial.Result) bool {
	return slices.ContainsFunc(undeclared(t.Doubtful), func(f trial.Flaw) bool {
		return !slices.ContainsFunc(t.Flaws, f.Same) && !slices.ContainsFunc(trials, func(o trial.Result) bool {
			return o.Spec.Lock == t.Spec.Lock && o.Spec.Fault == t.Spec.Fault && slices.ContainsFunc(o.Flaws, f.Same) ||
				follows(o, t) && settles(o, f)
		})
	})
}

// follows says whether t is a later attempt at the trial o.
func follows(t, o trial.Result) bool {
	at := o.Spec
	at.Attempt = t.Spec.Attempt
	return t.Spec.Attempt > o.Spec.Attempt && trial.Folder(t.Spec) == trial.Folder(at)
}

// doubts lists the remaining doubts, one entry for each cell, without flaws that another
// trial of the cell showed.
func doubts(trials []trial.Result) []Doubt {
	var all []Doubt
	for _, t := range trials {
		if !inDoubt(t, trials) {
			continue
		}
		i := slices.IndexFunc(all, func(d Doubt) bool { return d.Lock == t.Spec.Lock && d.Fault == t.Spec.Fault })
		if i < 0 {
			i, all = len(all), append(all, Doubt{Lock: t.Spec.Lock, Fault: t.Spec.Fault, Dir: cmp.Or(t.DoubtDir(), t.Dir)})
		}
		for _, f := range undeclared(t.Doubtful) {
			if one := (trial.Result{Spec: t.Spec, Doubtful: []trial.Flaw{f}}); inDoubt(one, trials) {
				all[i].Flaws = append(all[i].Flaws, f)
			}
		}
		all[i].Flaws = trial.Distinct(all[i].Flaws)
	}
	slices.SortStableFunc(all, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.Fault, b.Fault))
	})
	return all
}

// settled lists the settled doubts, trial by trial, without flaws that another trial of the
// cell showed.
func settled(trials []trial.Result) (all []Doubt) {
	shows := huntOf(Info{}, trials).flaws
	for _, t := range trials {
		d := Doubt{Lock: t.Spec.Lock, Fault: t.Spec.Fault, Dir: t.DoubtDir(), Settled: true}
		for _, f := range t.Settled() {
			if !shows[cellFlaw{d.Lock, d.Fault, f.Oracle, f.Cause}] {
				d.Flaws = append(d.Flaws, f)
			}
		}
		if len(d.Flaws) > 0 {
			all = append(all, d)
		}
	}
	return all
}
