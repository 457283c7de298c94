package plots

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// Measurable reports whether a trial's progress counts. It excludes trials whose fault hit nothing,
// trials that the harness could not finish, and trials of a sweep, whose faults have unusual sizes.
func Measurable(t trial.Result) bool {
	return t.Progress != nil && t.Err == "" && t.Spec.Size == 0 && (len(t.Spec.Plan) == 0 || t.Hits > 0)
}

// ComparedIn returns, for each recipe, the workload in which plots compare it with other recipes:
// of the workloads that the recipe ran, the one that the most recipes ran. Workloads of one source
// document and workloads of a lottery (workloads.Workload.Draws) come last. Among equals, the first
// in the registry is taken.
func ComparedIn(trials []trial.Result) map[string]string {
	ran := map[string][]string{} // the recipes with trials, by workload
	for _, t := range trials {
		if w := t.Spec.Workload; !slices.Contains(ran[w], t.Spec.Lock) {
			ran[w] = append(ran[w], t.Spec.Lock)
		}
	}
	var order []string
	for _, w := range workloads.All() {
		if len(ran[w.Name]) > 0 {
			order = append(order, w.Name)
		}
	}
	for _, w := range slices.Sorted(maps.Keys(ran)) { // workloads of an older campaign
		if !slices.Contains(order, w) {
			order = append(order, w)
		}
	}
	special := func(name string) int {
		if w, ok := workloads.ByName(name); ok && w.Document == "" && !w.Draws {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(special(a), special(b)), cmp.Compare(len(ran[b]), len(ran[a])))
	})
	in := map[string]string{}
	for _, w := range order {
		for _, recipe := range ran[w] {
			if in[recipe] == "" {
				in[recipe] = w
			}
		}
	}
	return in
}
