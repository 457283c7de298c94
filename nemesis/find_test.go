package nemesis_test

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// shown is a trial in the simulation, with its evidence.
type shown struct {
	trial.Spec
	history.Evidence
}

func (s shown) violates(t *testing.T, oracle string, cause checker.Cause) bool {
	v := checker.OracleNamed(oracle).Judge(t.Context(), s.Evidence)
	return v.Result == checker.Violated && slices.ContainsFunc(v.Findings, func(f checker.Finding) bool { return f.Cause == cause })
}

// drawn runs a recipe's first drawn trials in this topology, under each of the faults that can
// strike the recipe there. After every trial it calls the function each.
func drawn(t *testing.T, lock string, topology testbed.Topology, trials int, each func(shown), faults ...string) {
	t.Helper()
	bed := sim.New()
	c := campaign.DefaultConfig()
	c.Testbed, c.Topology, c.Trials = bed.Name(), topology, trials
	c.Locks, c.Faults, c.Workloads = []string{lock}, faults, []string{"mutex"}
	plan, err := campaign.NewPlanning(bed, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Look(t.Context(), bed); err != nil {
		t.Fatal(err)
	}
	for _, fault := range plan.Faults() {
		specs, _, err := plan.Trials(fault)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range specs {
			e, err := trial.Run(t.Context(), bed, s, history.NewRecorder(nil, bed.Clock()), nil)
			if err != nil {
				t.Fatalf("%s under %s: %v", lock, fault, err)
			}
			each(shown{s, e})
		}
	}
}

// At least one of the first twelve drawn trials of a recipe under a fault must show the flaw at
// which the fault's plans aim.
func TestPlansFindWhatTheyAreMadeFor(t *testing.T) {
	for i, c := range []struct {
		name, lock, fault string
		topology          testbed.Topology
		oracle            string
		cause             checker.Cause
	}{
		{"pause between EXISTS and SET lets two in", "exists-set", "client-pause", testbed.Single, "exclusion", checker.Race},
		{"crash of a holder without a TTL blocks for ever", "setnx", "client-crash", testbed.Single, "liveness", checker.NoExpiry},
		{"lost reply of a grant without a TTL blocks for ever", "setnx", "lost-reply", testbed.Single, "liveness", checker.NoExpiry},
		{"reset on the way of a grant without a TTL blocks for ever", "setnx", "reset", testbed.Single, "liveness", checker.NoExpiry},
		{"pause before a bare DEL lets two in", "set-nx-ex", "client-pause", testbed.Single, "exclusion", checker.ForeignDelete},
		{"late DEL lets two in without any overrun", "set-nx-ex", "delay", testbed.Single, "exclusion", checker.LateCommand},
		{"pause between GET and DEL lets two in", "set-nx-ex-get-del", "client-pause", testbed.Single, "exclusion", checker.ForeignDelete},
		{"two rivals take over a dead client's lock", "setnx-takeover-del", "client-crash", testbed.Single, "exclusion", checker.Race},
		{"a clock ahead takes over a living lock", "setnx-takeover-del", "client-skew", testbed.Single, "exclusion", checker.ClientClock},
		{"pause past the lease lets two in", "set-nx-px", "client-pause", testbed.Single, "exclusion", checker.LeaseOutlived},
		{"failover forgets a grant", "set-nx-px", "failover", testbed.Replicated, "exclusion", checker.ServerLostKey},
		{"volatile restart forgets a grant", "set-nx-px", "node-restart", testbed.Single, "exclusion", checker.ServerLostKey},
		{"a node's clock ahead ends a living lock", "set-nx-px", "node-clock", testbed.Single, "exclusion", checker.ServerClock},
		{"clocks of a majority ahead end a living lock", "redlock", "node-clock", testbed.Independent, "exclusion", checker.ServerClock},
		{"eviction forgets a grant", "set-nx-px", "eviction", testbed.Single, "exclusion", checker.ServerLostKey},
		{"eviction on a majority forgets a grant", "redlock", "eviction", testbed.Independent, "exclusion", checker.ServerLostKey},
		{"two primaries grant one lock twice", "set-nx-px", "split-brain", testbed.Replicated, "exclusion", checker.ServerLostKey},
		{"a mix finds what one fault finds", "set-nx-ex", "chaos", testbed.Replicated, "exclusion", checker.ForeignDelete},
		{"volatile restart of one of exactly a quorum forgets a grant", "redlock", "node-restart", testbed.Independent, "exclusion", checker.ServerLostKey},
	} {
		if testing.Short() && i%5 != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			found := false
			drawn(t, c.lock, c.topology, 12, func(s shown) {
				if !s.violates(t, c.oracle, c.cause) {
					return
				}
				found = true
				if nemesis.Hits(s.Ops, c.fault) == 0 {
					t.Errorf("trial %d shows it but its fault has no hits", s.Trial)
				}
			}, c.fault)
			if !found {
				t.Errorf("none of the first twelve trials shows it")
			}
		})
	}
}

// worlds has one recipe for each of three topologies, and for Single a second one whose takeover
// sends several commands.
var worlds = map[string]testbed.Topology{
	"set-nx-ex-get-del": testbed.Single, "setnx-takeover-del": testbed.Single,
	"set-nx-px": testbed.Replicated, "redlock": testbed.Independent,
}

// closed counts the closing entries of windows.
func closed(ops []history.Op) (n int) {
	for _, op := range ops {
		if op.Window != nil && op.Type == history.Info {
			n++
		}
	}
	return n
}

func TestEveryFaultBitesWithinItsFirstTrials(t *testing.T) {
	for lock, topology := range worlds {
		if testing.Short() && topology != testbed.Replicated {
			continue
		}
		hits := map[string]int{}
		drawn(t, lock, topology, 4, func(s shown) {
			hits[s.Fault] += nemesis.Hits(s.Ops, s.Fault)
			if _, err := history.Pairs(s.Ops); err != nil {
				t.Errorf("%s under %s: %v", lock, s.Fault, err)
			}
			if got := closed(s.Ops); got != len(s.Plan) {
				t.Errorf("%s under %s: %d windows of %d actions were closed", lock, s.Fault, got, len(s.Plan))
			}
		}, "all")
		for fault, n := range hits {
			if f, _ := nemesis.ByName(fault); n == 0 && !f.Undisturbed {
				t.Errorf("%s under %s: no hits in four trials", lock, fault)
			}
		}
	}
}

func TestChaosRunsInEveryWorld(t *testing.T) {
	for lock, topology := range worlds {
		drawn(t, lock, topology, 12, func(s shown) {
			if got := closed(s.Ops); got != len(s.Plan) {
				t.Errorf("%s, trial %d: %d windows of %d actions were closed", lock, s.Trial, got, len(s.Plan))
			}
			if got, all := nemesis.Hits(s.Ops, "chaos"), nemesis.Hits(s.Ops); got != all {
				t.Errorf("%s, trial %d: chaos hit %d of %d", lock, s.Trial, got, all)
			}
		}, "chaos")
	}
}
