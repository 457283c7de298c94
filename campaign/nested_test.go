package campaign

import (
	"testing"

	"github.com/lockstorm/lockstorm/locks"
)

func TestAWorkloadGetsAsManyLocksAsItHoldsAtOnce(t *testing.T) {
	r, _ := locks.ByID("set-nx-px")
	for _, c := range []struct {
		workload  string
		keys, got int
	}{{"mutex", 0, 1}, {"transfer", 0, 2}, {"transfer", 1, 2}, {"transfer", 5, 5}} {
		conf := DefaultConfig()
		conf.Keys = c.keys
		p := &planner{config: conf}
		if s := p.spec(plannedCell{recipe: r}, c.workload, 0); s.Options.Keys != c.got {
			t.Errorf("%s with --keys %d: got %d locks, want %d", c.workload, c.keys, s.Options.Keys, c.got)
		}
	}
}
