package nemesis

import (
	"regexp"
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
)

func TestSchedulesOfAFaultHaveNamesOfTheirOwnThatCanNameFolders(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*-[012]of[1238]$`)
	total := 0
	for id, topology := range map[string]testbed.Topology{
		"set-nx-px": testbed.Single, "get-del": testbed.Replicated, "redlock": testbed.Independent,
	} {
		for _, f := range All() {
			all, err := Named(f.Name, worldOf(t, fakeRecipes[id], topology))
			if err != nil {
				continue // it cannot strike there
			}
			seen := map[string]bool{}
			for _, s := range all {
				if !name.MatchString(s.Name) || seen[s.Name] {
					t.Errorf("%s under %s: %q names a second schedule or no folder", id, f.Name, s.Name)
				}
				seen[s.Name] = true
			}
			total += len(all)
		}
	}
	if total < 100 {
		t.Errorf("got %d schedules, want at least 100", total)
	}
}
