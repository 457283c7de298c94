package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/trial"
)

// A violation that a stall of the harness, or an election that no fault provoked, may
// have caused, or that hangs on a reply that nobody saw, proves nothing, but it is not
// nothing: one that no recipe declares must not vanish because the machine was busy. Its
// trial is run again, and a run without that settles it.

// Doubt is what may be violated in a cell though its recipe does not declare it:
// only trials with such an excuse (Excuse) showed it, and no other run has told.
type Doubt struct {
	Lock  string
	Fault string
	Flaws []trial.Flaw // worst first
	Dir   string       // the first such trial, relative to the campaign; empty if it was not kept
	// Settled: a further run of that trial has told, and did not show it.
	Settled bool
}

// Excuse is what may be behind a violation that is in doubt.
const Excuse = "a stall of the machine, an election that no fault provoked, or a reply that nobody saw, may be behind it"

// Hiding is what may be behind a declared flaw that does not show.
const Hiding = "trials that were to show it are undecided, or spoilt by a stall or an election that no fault provoked"

// Words say it in a sentence without an end.
func (d Doubt) Words() string {
	if d.Settled {
		return d.names() + " showed in a run, not declared: " + Excuse + ", and the same trial, run again without that, did not show it"
	}
	return d.names() + " in doubt, not declared: " + Excuse + ", and no run without that settled it"
}

// names are its flaws.
func (d Doubt) names() string {
	var names []string
	for _, f := range d.Flaws {
		names = append(names, fmt.Sprintf("%s by %s", f.Oracle, f.Cause))
	}
	return strings.Join(names, ", ")
}

// undeclared are those that the recipe does not declare.
func undeclared(flaws []trial.Flaw) (some []trial.Flaw) {
	for _, f := range flaws {
		if f.Kind == "" {
			some = append(some, f)
		}
	}
	return some
}

// earlier is what runs of a trial before this one left in doubt, undeclared.
type earlier struct {
	flaws   []trial.Flaw
	settled []trial.Flaw // of what was left, what one of them settled
	dir     string       // of the first such run, relative to the campaign; empty if it was not kept
}

// inherit adds to what t leaves in doubt what earlier runs of the trial did, unless
// t settles it; what it settles without showing it, it tells.
func inherit(t *trial.Result, before earlier) {
	t.Settled = slices.Clone(before.settled)
	for _, f := range before.flaws {
		switch {
		case !settles(*t, f):
			t.Doubtful = append(t.Doubtful, f)
		case !slices.ContainsFunc(t.Flaws, f.Same):
			t.Settled = append(t.Settled, f)
		}
	}
	t.Doubtful, t.DoubtDir = trial.Distinct(t.Doubtful), before.dir
	// That this run shows nothing is no verdict as long as that is left.
	if len(undeclared(t.Doubtful)) > 0 && !t.Violation() && t.Outcome != trial.Unknown {
		t.Outcome, t.Why = trial.Unknown, Doubt{Flaws: undeclared(t.Doubtful)}.Words()
	}
}

// settles says whether t tells of a doubtful flaw: it shows it beyond doubt, or does
// not show it though nothing spoilt it.
func settles(t trial.Result, f trial.Flaw) bool {
	if slices.ContainsFunc(t.Flaws, f.Same) {
		return true
	}
	if t.Spoilt || t.Err != "" || !t.Exercised() || slices.ContainsFunc(t.Doubtful, f.Same) {
		return false
	}
	unclassified := func(f checker.Finding) bool { return f.Cause == checker.Unclassified } // and so perhaps the same
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

// inDoubt says whether t leaves something undeclared in doubt that no trial of its
// cell has shown, and no further attempt at it has settled.
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

// doubts lists by cell what is left in doubt, but for what another trial of the cell
// showed.
func doubts(trials []trial.Result) []Doubt {
	var all []Doubt
	for _, t := range trials {
		if !inDoubt(t, trials) {
			continue
		}
		i := slices.IndexFunc(all, func(d Doubt) bool { return d.Lock == t.Spec.Lock && d.Fault == t.Spec.Fault })
		if i < 0 {
			i, all = len(all), append(all, Doubt{Lock: t.Spec.Lock, Fault: t.Spec.Fault, Dir: cmp.Or(t.DoubtDir, t.Dir)})
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

// settled lists what was in doubt and is no more, trial by trial, but for what another
// trial of the cell showed.
func settled(trials []trial.Result) (all []Doubt) {
	shows := huntOf(Info{}, trials).flaws
	for _, t := range trials {
		d := Doubt{Lock: t.Spec.Lock, Fault: t.Spec.Fault, Dir: t.DoubtDir, Settled: true}
		for _, f := range t.Settled {
			if !shows[place{d.Lock, d.Fault, f.Oracle, f.Cause}] {
				d.Flaws = append(d.Flaws, f)
			}
		}
		if len(d.Flaws) > 0 {
			all = append(all, d)
		}
	}
	return all
}
