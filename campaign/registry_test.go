package campaign

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
)

// The recipes' declarations are strings. This test keeps them in step with the registries: a flaw
// with an unknown name would never be found.
func TestFlawsNameWhatExists(t *testing.T) {
	var oracles, faults []string
	for _, o := range checker.Oracles() {
		oracles = append(oracles, o.Name)
	}
	for _, f := range nemesis.All() {
		faults = append(faults, f.Name)
	}
	for _, r := range locks.All() {
		for _, f := range r.Flaws {
			if !slices.Contains(oracles, f.Oracle) {
				t.Errorf("%s: flaw names oracle %q, expected one of %v", r.ID, f.Oracle, oracles)
			}
			if !slices.Contains(checker.Causes(), checker.Cause(f.Cause)) || f.Cause == string(checker.Unclassified) {
				t.Errorf("%s: flaw names cause %q, expected one of %v", r.ID, f.Cause, checker.Causes())
			}
			if f.Kind != locks.Bug && f.Kind != locks.Limit {
				t.Errorf("%s: flaw is of kind %q, expected bug or limit", r.ID, f.Kind)
			}
			if f.Why == "" || f.Source == "" || len(f.Faults)+len(f.Also) == 0 {
				t.Errorf("%s: %s by %s lacks why, source or faults", r.ID, f.Oracle, f.Cause)
			}
			for _, name := range slices.Concat(f.Faults, f.Also) {
				if !slices.Contains(faults, name) {
					t.Errorf("%s: flaw shows under %q, expected one of %v", r.ID, name, faults)
				}
			}
		}
	}
}
