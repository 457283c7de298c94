package clients_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/foreign"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// TestTrialsAreTheSameOnOneProcessorAndOnTwo: the seed alone decides what a client does in virtual time.
func TestTrialsAreTheSameOnOneProcessorAndOnTwo(t *testing.T) {
	t.Setenv("NODE_PATH", "/usr/share/nodejs")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, e := range examples {
		t.Run(e.argv[1], func(t *testing.T) {
			e.needPackages(t)
			id := "example-" + strings.TrimSuffix(e.argv[1], filepath.Ext(e.argv[1]))
			locks.Register(foreign.Recipe(id, e.argv, foreign.Abilities{
				Extend: e.ready.Extend, Until: e.ready.UntilToo, Independent: e.ready.Independent, Renews: e.ready.Renews,
			}))
			defer locks.Unregister(id)
			one, two := trialOn(t, id, 1), trialOn(t, id, 2)
			if one != two {
				t.Errorf("on one processor the trial's hash is %s, on two it is %s", one, two)
			}
		})
	}
}

// trialOn runs a trial of a lock on so many processors, and returns its hash.
func trialOn(t *testing.T, lock string, processors int) string {
	t.Helper()
	runtime.GOMAXPROCS(processors)
	tb, conf := sim.New(), campaign.DefaultConfig()
	conf.Seed, conf.Testbed = 5, tb.Name()
	s, err := campaign.PlanTrial(t.Context(), tb, conf, lock, "client-pause", "mutex", 0)
	if err != nil {
		t.Fatal(err)
	}
	result, _, err := campaign.Replay{Testbed: tb, Spec: s}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result.Hits == 0 || result.Commands < 50 {
		t.Errorf("the pause struck %d times, in %d commands", result.Hits, result.Commands)
	}
	return result.Hash
}
