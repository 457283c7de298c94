package campaign

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// flawed are trials in the simulation that show known flaws, with the maximum size of their minimal
// trials.
var flawed = []struct {
	lock, fault, workload string
	trial                 int
	oracle                string
	cause                 checker.Cause
	clients, actions      int
}{
	{"set-nx-px", "client-pause", "mutex", 0, "exclusion", "lease-outlived", 2, 1},
	{"set-nx-ex", "delay", "mutex", 0, "exclusion", "foreign-delete", 2, 1},
	{"set-nx-px-watchdog", "client-pause", "mutex", 1, "ownership", "foreign-renewal", 2, 1},
	{"exists-set", "none", "mutex", 3, "exclusion", "race", 2, 0},
	{"set-nx-px", "failover", "mutex", 0, "exclusion", "server-lost-key", 2, 1},
	{"redlock", "node-restart", "mutex", 1, "exclusion", "server-lost-key", 2, 1},
	{"setnx-takeover-del", "client-skew", "mutex", 0, "exclusion", "client-clock", 2, 1},
	{"redisson", "node-clock", "reentrant", 0, "exclusion", "server-clock", 2, 1},
	{"redisson", "partition", "reentrant", 0, "exclusion", "renewal-failed", 2, 1},
	{"set-nx-px", "client-crash", "mutex", 0, "liveness", "orphaned-key", 2, 1},
	{"setnx", "client-crash", "mutex", 0, "liveness", "no-expiry", 2, 1},
	{"set-nx-px", "chaos", "mutex", 7, "exclusion", "lease-outlived", 2, 1},
}

// generous is more trials than a search needs.
const generous = 100_000

// A known flaw shrinks to two clients, a few critical sections and at most one fault. The stored
// minimal trial repeats when it is run again.
func TestKnownFlawsShrinkToTwoClientsAndOneFault(t *testing.T) {
	tb := sim.New()
	for i, f := range flawed {
		if testing.Short() && i%6 != 0 {
			continue // a search runs a hundred trials; without -short, all flaws are shrunk
		}
		t.Run(f.lock+" under "+f.fault+", "+string(f.cause), func(t *testing.T) {
			s := specOf(t, tb, DefaultConfig(), f.lock, f.fault, f.workload, f.trial)
			folder := filepath.Join(t.TempDir(), trial.MinimalFolder)
			r := Replay{Testbed: tb, Spec: s, Dir: folder}
			small, _, err := r.Shrink(t.Context(), generous)
			if err != nil {
				t.Fatal(err)
			}
			sections := 0
			for _, list := range small.Spec.Options.Script {
				sections += len(list)
			}
			was, is := small.Shrinking.From, small.Shrinking.To
			t.Logf("%d trials: clients %d to %d, faults %d to %d, nodes %d to %d, %v to %v, operations %d to %d, commands %d to %d, %d sections",
				small.Shrinking.Trials, was.Clients, is.Clients, was.Actions, is.Actions, was.Nodes, is.Nodes,
				was.Duration, is.Duration, was.Ops, is.Ops, was.Commands, is.Commands, sections)
			if worst := small.Flaws[0]; worst.Oracle != f.oracle || worst.Cause != string(f.cause) {
				t.Errorf("what is left shows %+v, want %s %s", worst, f.oracle, f.cause)
			}
			if is.Clients > f.clients || is.Actions > f.actions || sections > 4 || small.Shrinking.Unfinished != "" {
				t.Errorf("%d clients, %d faults and %d sections are left (%s), want at most %d, %d and 4",
					is.Clients, is.Actions, sections, small.Shrinking.Unfinished, f.clients, f.actions)
			}
			stored, _, err := trial.Load(folder)
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := Replay{Testbed: tb, Spec: stored.Spec}.Run(t.Context())
			got, _ := json.Marshal([]any{again.Verdicts, again.Progress})
			want, _ := json.Marshal([]any{stored.Verdicts, stored.Progress})
			if err != nil || again.Hash != stored.Hash || stored.Progress == nil || string(got) != string(want) || again.Outcome != stored.Outcome {
				t.Errorf("replayed it comes to %s (%v), want %s and the same verdicts and measures", again.Hash, err, stored.Hash)
			}
		})
	}
}

// Shrinking a trial twice finds the same trial, however long the searches take.
func TestShrinkingTwiceFindsTheSame(t *testing.T) {
	raced(t)
	tb := sim.New()
	s := specOf(t, tb, DefaultConfig(), "set-nx-ex", "delay", "mutex", 0)
	var found []trial.Result
	for range 2 {
		small, _, err := Replay{Testbed: tb, Spec: s, Dir: t.TempDir()}.Shrink(t.Context(), generous)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, small)
	}
	a, b := found[0], found[1]
	first, _ := json.Marshal([]any{a.Spec, a.Shrinking})
	second, _ := json.Marshal([]any{b.Spec, b.Shrinking})
	if string(first) != string(second) || a.Hash != b.Hash {
		t.Errorf("found %+v and %+v", a, b)
	}
}
