package campaign

import (
	"slices"

	"github.com/lockstorm/lockstorm/workloads"
)

// StandardWorkloads are the default workloads: each tests another aspect of a lock. The
// others illustrate a case, or repeat what some of these show.
func StandardWorkloads() []workloads.Workload {
	return slices.DeleteFunc(workloads.All(), func(w workloads.Workload) bool { return !w.Standard })
}

// chosenWorkloads resolves a choice of workloads; one name stands for the standard
// ones.
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
