package reports

import (
	"slices"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// mostListed is the maximum number of one oracle's findings in a table. If there are more causes
// than that, the table has one finding for each cause.
const mostListed = 5

// Listed returns the findings of t's verdict v that a table shows, and how many findings the table leaves
// out, including v.LeftOut. The first finding of each cause is always shown. Findings that the recipe
// does not declare come first.
func Listed(t trial.Result, v checker.Verdict) (shown []checker.Finding, more int) {
	var first, others []checker.Finding
	more = v.LeftOut
	seen, room := map[checker.Cause]bool{}, mostListed
	for _, f := range v.Findings {
		seen[f.Cause] = true
	}
	room -= len(seen) // room for further findings of the same causes
	clear(seen)
	for _, f := range v.Findings {
		switch {
		case !seen[f.Cause]:
			seen[f.Cause] = true
		case room > 0:
			room--
		default:
			more++
			continue
		}
		if Declared(t, v.Oracle, f.Cause) {
			others = append(others, f)
		} else {
			first = append(first, f)
		}
	}
	return slices.Concat(first, others), more
}

// Declared reports whether t's recipe declares the finding. It is also true if there is no recipe,
// if t.Flaws does not list the finding, and for an oracle that judges by a model, such as
// linearizable: recipes declare no such findings.
func Declared(t trial.Result, oracle string, cause checker.Cause) bool {
	if t.Spec.Lock == "" || checker.OracleNamed(oracle).OfModel {
		return true
	}
	i := slices.IndexFunc(t.Flaws, func(f trial.Flaw) bool { return f.Oracle == oracle && f.Cause == string(cause) })
	return i < 0 || t.Flaws[i].Kind != ""
}

// KindWords says how the recipe declares a flaw of that kind, such as "declared bug". For a user's
// own lock that may show only limits, it says "limit of any lease".
func KindWords(lock string, kind locks.Kind) string {
	if kind == "" {
		return "not declared"
	}
	if r, known := locks.ByID(lock); known && r.OnlyLimits() {
		return "limit of any lease"
	}
	return "declared " + string(kind)
}

// flawWords names a flaw, and adds "(not declared)" if the recipe does not declare it.
func flawWords(f trial.Flaw) string {
	words := f.Oracle + " by " + f.Cause
	if f.Kind == "" {
		words += " (not declared)"
	}
	return words
}

// undeclaredFlaws names the flaws that the recipe does not declare.
func undeclaredFlaws(flaws []trial.Flaw) []string {
	some := slices.DeleteFunc(slices.Clone(flaws), func(f trial.Flaw) bool { return f.Kind != "" })
	return texts(some, func(f trial.Flaw) string { return f.Oracle + " by " + f.Cause })
}

// undeclaredFlaw is an undeclared flaw of a cell, with its story.
type undeclaredFlaw struct {
	campaign.Discrepancy
	Detail detail
}

// undeclaredIn returns the undeclared flaws of a cell that have a story, in the matrix's order.
// The story is about the first trial that showed the flaw, or about the minimal trial that was
// shrunk from it.
func (r result) undeclaredIn(c campaign.Cell) []undeclaredFlaw {
	var out []undeclaredFlaw
	for _, u := range r.Matrix.Unexpected {
		if u.Lock != c.Lock || u.Fault != c.Fault || u.Dir == "" {
			continue
		}
		dirs := []string{u.Dir}
		if u.Dir == c.Dir && c.Minimal != "" {
			dirs = []string{c.Minimal, u.Dir}
		}
		for _, dir := range dirs {
			if d, ok := r.Details[dir]; ok && d.Told.Oracle == u.Oracle && d.Told.Cause == u.Cause {
				u.Dir = dir
				out = append(out, undeclaredFlaw{u, d})
				break
			}
		}
	}
	return out
}
