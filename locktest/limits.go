package locktest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// limitLines returns one explanation for each limit, with the command that shows it in a trial.
// Limits with the same explanation share a line.
func (r *Result) limitLines(command func(fault, replay string) string) []string {
	type limit struct {
		names []string
		why   string
		trial string
	}
	var limits []limit
	reported := map[Flaw]bool{}
	for _, f := range r.Faults {
		for _, l := range f.Limits {
			key := Flaw{Oracle: l.Oracle, Cause: l.Cause}
			if reported[key] {
				continue
			}
			reported[key] = true
			spec := l.smallest.Spec
			why := whyLimit(spec, key)
			i := slices.IndexFunc(limits, func(l limit) bool { return l.why == why })
			if i < 0 {
				i = len(limits)
				limits = append(limits, limit{why: why, trial: command(f.Fault, replayOf(spec))})
			}
			limits[i].names = append(limits[i].names, key.String())
		}
	}
	var lines []string
	for _, l := range limits {
		lines = append(lines, fmt.Sprintf("limit of any lease: %s: %s To see one:\n  %s", strings.Join(l.names, ", "), l.why, l.trial))
	}
	return lines
}

// whyLimit returns the explanation of a trial's limit from the recipe's flaws. If the workload
// causes the limit on purpose, without the fault, the explanation says so.
func whyLimit(spec trial.Spec, limit Flaw) string {
	recipe, err := spec.Recipe()
	if err != nil {
		return checker.Cause(limit.Cause).Meaning() + "."
	}
	if f, ok := recipe.Declares(limit.Oracle, limit.Cause, spec.Fault); ok {
		return f.Why
	}
	w, _ := workloads.ByName(spec.Workload)
	if w.LikeIn == "" || w.LikeIn == limit.Oracle {
		for _, fault := range w.Like {
			if f, ok := recipe.Declares(limit.Oracle, limit.Cause, fault); ok {
				return fmt.Sprintf("%s The workload %s does so on purpose: %s.", f.Why, w.Name, w.Doc)
			}
		}
	}
	i := slices.IndexFunc(recipe.Flaws, func(f locks.Flaw) bool { return f.Oracle == limit.Oracle && f.Cause == limit.Cause })
	if i < 0 {
		return checker.Cause(limit.Cause).Meaning() + "."
	}
	return recipe.Flaws[i].Why
}

// violationLines returns one line that lists the faults under which the lock broke its promises.
func (r *Result) violationLines() []string {
	var flaws []string
	faults := map[string][]string{} // by flaw
	n := 0
	for _, f := range r.Faults {
		if f.Violation == nil {
			continue
		}
		n++
		worst := f.Violation.Flaws[0]
		flaw := Flaw{Oracle: worst.Oracle, Cause: worst.Cause}.String()
		if faults[flaw] == nil {
			flaws = append(flaws, flaw)
		}
		faults[flaw] = append(faults[flaw], f.Fault)
	}
	if n == 0 {
		return nil
	}
	for i, flaw := range flaws {
		flaws[i] += " (" + strings.Join(faults[flaw], ", ") + ")"
	}
	return []string{fmt.Sprintf("the lock breaks what it promises under %d of %d %s: %s", n, len(r.Faults), wording.Plural(len(r.Faults), "fault"), strings.Join(flaws, "; "))}
}
