package reports

import (
	"slices"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/trial"
)

// mostListed is how many findings of one oracle a table lists, if they do not show
// more causes than that.
const mostListed = 5

// Listed are the findings of a verdict of t that a table shows, and how many it
// leaves out: the first of each cause always, those that the recipe does not declare
// before all others.
func Listed(t trial.Result, v checker.Verdict) (shown []checker.Finding, more int) {
	var surprising, others []checker.Finding
	seen, room := map[checker.Cause]bool{}, mostListed
	for _, f := range v.Findings {
		seen[f.Cause] = true
	}
	room -= len(seen) // what is left for further ones of the same causes
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
			surprising = append(surprising, f)
		}
	}
	return slices.Concat(surprising, others), more
}

// Declared says whether t's recipe declares what was found, or there is no recipe
// that could, or the judge is none whose findings recipes declare.
func Declared(t trial.Result, oracle string, cause checker.Cause) bool {
	if t.Spec.Lock == "" || oracle == checker.LinearizableName {
		return true
	}
	i := slices.IndexFunc(t.Flaws, func(f trial.Flaw) bool { return f.Oracle == oracle && f.Cause == string(cause) })
	return i < 0 || t.Flaws[i].Kind != ""
}

// flawWords name a flaw, and say so if the recipe does not declare it.
func flawWords(f trial.Flaw) string {
	words := f.Oracle + " by " + f.Cause
	if f.Kind == "" {
		words += " (not declared)"
	}
	return words
}

// undeclaredFlaws names those that the recipe does not declare.
func undeclaredFlaws(flaws []trial.Flaw) []string {
	var out []string
	for _, f := range flaws {
		if f.Kind == "" {
			out = append(out, f.Oracle+" by "+f.Cause)
		}
	}
	return out
}

// surprise is an undeclared flaw of a cell, with what is told of it.
type surprise struct {
	campaign.Surprise
	Detail detail
}

// surprises are the undeclared flaws of a cell whose story is told, in the matrix's
// order: those of the trial that showed it first, or of the smaller one that
// this was shrunk to.
func (r result) surprises(c campaign.Cell) []surprise {
	var out []surprise
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
				out = append(out, surprise{u, d})
				break
			}
		}
	}
	return out
}
