package reporttest

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

// Recorded returns trials that the simulation ran and shrank, one per cause. It reads them from
// the folders that "lockstorm run" stored. dir contains these folders; it is relative to the
// test's package. Each trial is named after its folder.
func Recorded(tb testing.TB, dir string) []Trial {
	tb.Helper()
	specs, err := filepath.Glob(filepath.Join(dir, "*", trial.SpecFile))
	if err != nil || len(specs) == 0 {
		tb.Fatalf("%s: no recorded trials: %v", dir, err)
	}
	var all []Trial
	for _, spec := range specs {
		folder := filepath.Dir(spec)
		t, e, err := trial.Load(folder)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, Trial{
			Name: filepath.Base(folder), Lock: t.Spec.Lock, Fault: t.Spec.Fault, Workload: t.Spec.Workload,
			Topology: t.Spec.Topology, Nodes: t.Spec.Nodes, Kind: t.Kind, Verdicts: t.Verdicts, Evidence: e,
		})
	}
	return all
}

// Unrecorded returns the hand-made trials except those that have the name of a recorded trial.
func Unrecorded(tb testing.TB, recorded []Trial) []Trial {
	return slices.DeleteFunc(Trials(tb), func(t Trial) bool {
		return slices.ContainsFunc(recorded, func(r Trial) bool { return r.Name == t.Name })
	})
}
