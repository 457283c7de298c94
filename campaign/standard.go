package campaign

import (
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/workloads"
)

// StandardWorkloads returns the default workloads. Each tests a different aspect of a lock. The
// remaining workloads illustrate a case, or repeat what a default one shows.
func StandardWorkloads() []workloads.Workload {
	return slices.DeleteFunc(workloads.All(), func(w workloads.Workload) bool { return !w.Standard })
}

// UsualWorkload returns the workload for a single trial of a lock with these claims: the workload mutex, or
// else the first default one that suits the lock; false if none does.
func UsualWorkload(claims history.Claims) (workloads.Workload, bool) {
	if w, ok := workloads.ByName("mutex"); ok && w.Suits(claims) {
		return w, true
	}
	all := StandardWorkloads()
	i := slices.IndexFunc(all, func(w workloads.Workload) bool { return w.Suits(claims) })
	if i < 0 {
		return workloads.Workload{}, false
	}
	return all[i], true
}

// runs reports whether a chosen workload runs for a recipe that it suits. A workload that the user named
// always runs. Any other workload runs if it meets three conditions:
//
//   - If it is from a source document, the recipe cites that document.
//   - If it shows a flaw of the clients' program, there is no fault, since that flaw needs none.
//   - If it asks for claims, the recipe makes them.
func (p *planner) runs(w workloads.Workload, named []workloads.Workload, r locks.Recipe, f nemesis.Fault) bool {
	cited := w.Document == "" || slices.Contains(r.Documents(), w.Document)
	asked := w.Asks == nil || w.Asks(r.Claims(p.config.TTL, max(1, p.config.Nodes)))
	if cited && asked && (len(w.Shows) == 0 || f.Undisturbed) {
		return true
	}
	return slices.ContainsFunc(named, func(n workloads.Workload) bool { return n.Name == w.Name })
}

// namedWorkloads resolves the names in a choice of workloads other than "standard".
func namedWorkloads(choice []string) ([]workloads.Workload, error) {
	named := slices.DeleteFunc(slices.Clone(choice), func(name string) bool {
		return name == standardNames || strings.TrimSpace(name) == ""
	})
	if len(named) == 0 {
		return nil, nil // only chosenWorkloads reports an empty choice as an error
	}
	return chosenWorkloads(named)
}

// chosenWorkloads resolves a choice of workloads; the name "standard" selects the default
// ones.
func chosenWorkloads(choice []string) ([]workloads.Workload, error) {
	return chosen("workload", choice, workloads.All(), func(w workloads.Workload) string { return w.Name },
		group[workloads.Workload]{standardNames, func(w workloads.Workload) bool { return w.Standard }})
}
