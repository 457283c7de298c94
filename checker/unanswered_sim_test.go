package checker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// muted returns the evidence without the replies that nodes sent but no client got. With doubtful,
// the evidence does not even say for certain that the commands of these replies ran. ok is false if
// there are no such replies.
func muted(e history.Evidence, doubtful bool) (_ history.Evidence, ok bool) {
	e.Commands = slices.Clone(e.Commands)
	for i := range e.Commands {
		c := &e.Commands[i]
		if c.Replied > 0 || c.Reply == "" {
			continue
		}
		c.Reply, ok = "", true
		if doubtful {
			c.Served = 0
		}
	}
	return e, ok
}

// The changes of the keys show what a command did. So no verdict changes if the evidence lacks the
// replies that no client got.
func TestNoVerdictRestsOnWhatNobodyHeard(t *testing.T) {
	faults := [][]string{
		{"lost-reply"}, {"partition-replies"}, {"partition"}, {"delay"}, {"lost-reply", "node-restart"}, {"lost-reply", "client-pause"},
		{"lost-reply", "client-crash"}, {"partition-replies", "node-clock"}, {"partition-replies", "eviction"}, {"lost-reply", "delay", "reset"},
	}
	replies := [][]string{{"lost-reply"}, {"partition-replies"}, {"partition-replies", "script-flush"}, {"lost-reply", "client-crash"}}
	trials := 0
	for _, c := range []struct {
		lock, workload string
		faults         [][]string
		seeds          uint64
	}{
		{"set-nx-px", "mutex", faults, 3},
		{"set-nx-ex", "mutex", faults, 3},
		{"getset", "mutex", faults, 3},
		{"fenced", "mutex", faults, 3},
		{"redlock", "mutex", faults, 3},
		{"lua-setnx-expire", "mutex", faults, 3},
		{"reentrant-hash", "mutex", faults, 3},
		{"rw-hash-owners", "mutex", faults, 3},
		{"reentrant-hash", "reentrant", replies, 6},
		{"redisson", "reentrant", replies, 6},
	} {
		for _, f := range c.faults {
			for seed := range c.seeds {
				e, ok := struck(t, c.lock, c.workload, f, seed+1)
				for _, doubtful := range []bool{false, true} {
					if less, lost := muted(e, doubtful); ok && lost {
						trials++
						compareVerdicts(t, fmt.Sprintf("%s, %s, under %s, seed %d, in doubt %t", c.lock, c.workload, f, seed+1, doubtful), e, less)
					}
				}
			}
		}
	}
	if trials < 200 {
		t.Errorf("only %d trials had replies that nobody got", trials)
	}
}

// struck returns the evidence of a trial of the lock in that workload, under drawn faults.
// ok is false if lock, workload and faults do not fit together.
func struck(t *testing.T, lock, workload string, faults []string, seed uint64) (_ history.Evidence, ok bool) {
	t.Helper()
	tb := sim.New()
	recipe, found := locks.ByID(lock)
	if !found {
		t.Fatalf("no recipe %q", lock)
	}
	s := trial.Spec{
		Lock: lock, Workload: workload, Fault: "none", Testbed: "sim", Topology: testbed.Single, Seed: seed, CommandTimeout: 300 * time.Millisecond,
		Options: workloads.Options{
			Clients: 3, Keys: 1, TTL: time.Second, Hold: 100 * time.Millisecond, Rest: 50 * time.Millisecond,
			Retry: 50 * time.Millisecond, Duration: 4 * time.Second, Margin: 500 * time.Millisecond, Seed: seed,
		},
	}
	world := nemesis.World{Nodes: []string{"n0"}, Capabilities: tb.Capabilities()}
	if recipe.Topology == locks.Independent {
		s.Topology, s.Nodes = testbed.Independent, 3
		world.Nodes = []string{"n0", "n1", "n2"}
	}
	quiet := runTrial(t, tb, s)
	o := s.Options
	world.Clients, world.Topology, world.TTL, world.Hold, world.Retry, world.Duration = o.Clients, s.Topology, o.TTL, o.Hold, o.Retry, o.Duration
	world.CommandTimeout, world.Points, world.Claims = s.CommandTimeout, nemesis.Points(quiet.Commands), quiet.Claims
	plan, err := nemesis.New(seed, faults, world, int(seed))
	if errors.Is(err, nemesis.ErrNotSupported) {
		return history.Evidence{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Fault, s.Plan, s.Durability = strings.Join(faults, "+"), plan, plan.Durability()
	return runTrial(t, tb, s), true
}

func runTrial(t *testing.T, tb testbed.Testbed, s trial.Spec) history.Evidence {
	t.Helper()
	e, err := trial.Run(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), nil)
	if err != nil {
		t.Fatalf("%s under %s, seed %d: %v", s.Lock, s.Fault, s.Seed, err)
	}
	if !e.Watched || len(e.Keys) == 0 {
		t.Fatalf("%s under %s, seed %d: nobody watched the keys", s.Lock, s.Fault, s.Seed)
	}
	return e
}

func compareVerdicts(t *testing.T, what string, more, less history.Evidence) {
	t.Helper()
	before, err := checker.Judge(t.Context(), more)
	if err != nil {
		t.Fatal(err)
	}
	after, err := checker.Judge(t.Context(), less)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range before {
		a := after[i]
		if a.Result != b.Result || !slices.Equal(causes(a), causes(b)) {
			t.Errorf("%s: %s was %s, and is %s with less: %s", what, a.Oracle, b.Result, a.Result, told(append(a.Findings, b.Findings...)))
		}
	}
}

func causes(v checker.Verdict) (all []checker.Cause) {
	for _, f := range v.Findings {
		all = append(all, f.Cause)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func told(all []checker.Finding) string {
	var said []string
	for _, f := range all {
		said = append(said, fmt.Sprintf("%s: %s", f.Cause, f.Summary))
	}
	return strings.Join(said, "; ")
}
