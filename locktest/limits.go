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

// example notes a trial that shows a limit, if it is the smallest so far.
func (f *FaultResult) example(limit trial.Flaw, t trial.Result) {
	key := Flaw{Oracle: limit.Oracle, Cause: limit.Cause}
	if old, ok := f.limits[key]; !ok || t.Ops+t.Commands < old.Ops+old.Commands {
		f.limits[key] = t
	}
}

// limitLines says once of each limit what it is, and which trial shows it.
func (r *Result) limitLines() (lines []string) {
	told := map[Flaw]bool{}
	for _, f := range r.Faults {
		for _, l := range f.Limits {
			key := Flaw{Oracle: l.Oracle, Cause: l.Cause}
			if told[key] {
				continue
			}
			told[key] = true
			spec := f.limits[key].Spec
			line := fmt.Sprintf("limit of any lease: %s: %s For one, -lockstorm.replay=%s/%s", key, whyLimit(spec, key), spec.Workload, number(spec))
			if w, _ := workloads.ByName(spec.Workload); len(w.Like) > 0 {
				line += fmt.Sprintf(" (the workload %s does so on purpose: %s)", w.Name, w.Doc)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// whyLimit returns the sentence that the table of limits has for a trial's limit.
func whyLimit(spec trial.Spec, limit Flaw) string {
	recipe, err := spec.Recipe()
	if err != nil {
		return checker.Cause(limit.Cause).Meaning() + "."
	}
	w, _ := workloads.ByName(spec.Workload)
	for _, fault := range append([]string{spec.Fault}, w.Like...) {
		if f, ok := recipe.Declares(limit.Oracle, limit.Cause, fault); ok {
			return f.Why
		}
	}
	i := slices.IndexFunc(recipe.Flaws, func(f locks.Flaw) bool { return f.Oracle == limit.Oracle && f.Cause == limit.Cause })
	if i < 0 {
		return checker.Cause(limit.Cause).Meaning() + "."
	}
	return recipe.Flaws[i].Why
}

// violationLines sums up in a line under which faults the lock broke what it promises.
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
