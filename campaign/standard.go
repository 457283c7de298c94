package campaign

import (
	"slices"

	"github.com/lockstorm/lockstorm/workloads"
)

// StandardWorkloads are those that run if none is chosen: each puts another side
// of a lock on trial. The others tell a story, or show what some of these do.
func StandardWorkloads() []workloads.Workload {
	return slices.DeleteFunc(workloads.All(), func(w workloads.Workload) bool { return !w.Standard })
}

// chosenWorkloads resolves a choice of workloads, in which one name stands for
// the standard ones.
func chosenWorkloads(choice []string) ([]workloads.Workload, error) {
	var names []string
	for _, c := range choice {
		if c != standardNames {
			names = append(names, c)
			continue
		}
		for _, w := range StandardWorkloads() {
			names = append(names, w.Name)
		}
	}
	return chosen("workload", names, workloads.All(), func(w workloads.Workload) string { return w.Name }, standardNames)
}
