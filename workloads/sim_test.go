package workloads_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// spec returns a trial of a recipe on one node, as a campaign plans it.
func spec(lock, workload string, seed uint64) trial.Spec {
	w, _ := workloads.ByName(workload)
	return trial.Spec{
		Lock: lock, Workload: workload, Fault: "none", Testbed: "sim", Topology: testbed.Single, Seed: seed,
		CommandTimeout: 500 * time.Millisecond,
		Options: workloads.Options{
			Clients: 3, Keys: max(1, w.Locks), TTL: time.Second, Hold: 100 * time.Millisecond, Rest: 50 * time.Millisecond,
			Retry: 50 * time.Millisecond, Duration: 3 * time.Second, Margin: 500 * time.Millisecond, Seed: seed,
		},
	}
}

func run(t *testing.T, s trial.Spec) history.Evidence {
	t.Helper()
	tb := sim.New()
	e, err := trial.Run(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), nil)
	if err != nil {
		t.Fatalf("%s, %s under %s, seed %d: %v", s.Lock, s.Workload, s.Fault, s.Seed, err)
	}
	return e
}

// struck returns the same trial with a plan of the fault. ok is false if the fault has no plan for
// the trial.
func struck(t *testing.T, s trial.Spec, fault string, undisturbed history.Evidence) (_ trial.Spec, ok bool) {
	t.Helper()
	o := s.Options
	plan, err := nemesis.New(s.Seed, []string{fault}, nemesis.World{
		Clients: o.Clients, Nodes: []string{"n0"}, Topology: s.Topology, Capabilities: sim.New().Capabilities(),
		TTL: o.TTL, Hold: o.Hold, Retry: o.Retry, Duration: o.Duration, CommandTimeout: s.CommandTimeout,
		Sight: nemesis.Sight{Points: nemesis.Points(undisturbed.Commands)}, Claims: undisturbed.Claims,
	}, int(s.Seed))
	if errors.Is(err, nemesis.ErrNotSupported) {
		return s, false
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Fault, s.Plan, s.Durability = fault, plan, plan.Durability()
	return s, true
}

// suiting returns all pairs of one of the given locks and a workload that suits the lock.
func suiting(ids ...string) (pairs [][2]string) {
	for _, id := range ids {
		r, _ := locks.ByID(id)
		for _, w := range workloads.All() {
			if w.Suits(r.Claims(time.Second, 1)) {
				pairs = append(pairs, [2]string{id, w.Name})
			}
		}
	}
	return pairs
}

func verdicts(t *testing.T, e history.Evidence) []checker.Verdict {
	t.Helper()
	all, err := checker.Judge(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Clients' decisions, written as a script, give the same trial. Shrinking relies on that.
func TestAScriptOfATrialsChoicesGivesTheSameHistory(t *testing.T) {
	faults := []string{"client-crash", "client-pause", "lost-reply"}
	for i, p := range suiting("set-nx-px", "reentrant-hash", "redisson", "rw-two-keys", "fenced") {
		t.Run(p[0]+" "+p[1], func(t *testing.T) {
			t.Parallel()
			w, _ := workloads.ByName(p[1])
			for seed := range uint64(3) {
				if testing.Short() && seed != 2 {
					continue
				}
				s := spec(p[0], p[1], seed)
				if seed == 2 {
					s.Options.Keys, s.Options.Overrun = 2, 0.2
				}
				undisturbed := run(t, s)
				same(t, w, s, undisturbed)
				for j, fault := range faults {
					if testing.Short() && j != i%len(faults) {
						continue
					}
					if s, ok := struck(t, s, fault, undisturbed); ok {
						same(t, w, s, run(t, s))
					}
				}
			}
		})
	}
}

// same checks that a trial has the same history when its clients' decisions are a script, which is
// converted to JSON and back.
func same(t *testing.T, w workloads.Workload, s trial.Spec, original history.Evidence) {
	t.Helper()
	script := make([][]workloads.Section, s.Options.Clients)
	for client := range script {
		for n := range longestScript {
			script[client] = append(script[client], w.Decide(s.Options, client, n))
		}
	}
	s.Options.Script = script
	s.Options = travelled(t, s.Options)
	e := run(t, s)
	if got := history.Hash(e); got != history.Hash(original) {
		t.Fatalf("%s, %s under %s, seed %d: the script's history has %d entries, the original %d; %s", s.Lock, s.Workload, s.Fault, s.Seed,
			len(e.Ops), len(original.Ops), firstDifference(e.Ops, original.Ops))
	}
}

// longestScript is more critical sections than a client has time for.
const longestScript = 1 << 9

func firstDifference(got, want []history.Op) string {
	for i := range min(len(got), len(want)) {
		a, b := string(got[i].AppendJSON(nil)), string(want[i].AppendJSON(nil))
		if a != b {
			return fmt.Sprintf("got %s, want %s", a, b)
		}
	}
	return "the commands differ"
}

// travelled returns the options after encoding them as JSON and decoding them.
func travelled(t *testing.T, o workloads.Options) (back workloads.Options) {
	t.Helper()
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// A sound lock violates nothing in any workload.
func TestAGoodLockIsAccusedInNoWorkload(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 5
	}
	for _, p := range suiting("set-nx-px", "fenced", "rw-hash-owners", "reentrant-hash") {
		t.Run(p[0]+" "+p[1], func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				for _, v := range verdicts(t, run(t, spec(p[0], p[1], seed))) {
					about := slices.Contains([]string{"exclusion", "resource", "fencing", "liveness", "reentrancy"}, v.Oracle)
					if orphans(v) && p[1] == "cancel" {
						continue // the only findings are keys left by attempts that the client itself cancelled
					}
					if about && v.Result != checker.Held && v.Result != checker.NotApplicable {
						t.Fatalf("seed %d: %s is %s: %s %v", seed, v.Oracle, v.Result, v.Why, v.Findings)
					}
				}
			}
		})
	}
}

// orphans reports whether the verdict's only findings are keys that expired in the end.
func orphans(v checker.Verdict) bool {
	return v.Result == checker.Violated && !slices.ContainsFunc(v.Findings, func(f checker.Finding) bool {
		return f.Cause != checker.OrphanedKey || f.Forever
	})
}

// untouched are the workloads whose clients touch no resource.
var untouched = []string{"d3-test-basic", "d3-test-reentrant"}

// Every workload whose clients touch the resource shows, without any fault, that D3's simple idea
// (EXISTS, then SET) does not exclude.
func TestCheckThenSetIsSeenInEveryWorkload(t *testing.T) {
	for _, p := range suiting("exists-set") {
		t.Run(p[1], func(t *testing.T) {
			t.Parallel()
			touches := !slices.Contains(untouched, p[1])
			for seed := range uint64(20) {
				got := said(t, run(t, spec(p[0], p[1], seed)), "resource").Result
				switch {
				case touches && got == checker.Violated:
					return
				case touches == (got == checker.NotApplicable):
					t.Fatalf("seed %d: the resource is %q", seed, got)
				}
			}
			if touches {
				t.Error("no violation of the resource in 20 trials")
			}
		})
	}
}

// Whenever the counter shows lost updates, the oracle resource finds an overwritten update.
func TestWhatTheCounterLostIsAViolationOfTheResource(t *testing.T) {
	lossy := 0
	for _, lock := range []string{"exists-set", "set-nx-ex", "set-nx-px"} {
		for seed := range uint64(8) {
			s := spec(lock, "counter", seed)
			s.Options.Overrun = 0.2
			e := run(t, s)
			lost := int64(0)
			for _, op := range e.Ops {
				if op.F == history.FWrite && op.Type == history.OK {
					lost = max(lost, op.Value[1]-op.Value[0])
				}
			}
			if lost == 0 {
				continue
			}
			lossy++
			if v := said(t, e, "resource"); v.Result != checker.Violated {
				t.Errorf("%s, seed %d: %d updates are lost, and the resource is %q", lock, seed, lost, v.Result)
			}
		}
	}
	if lossy == 0 {
		t.Error("nothing was lost in any trial")
	}
}

// Late writers meet a resource that has seen a newer fence, and no update is lost.
func TestFencesKeepLateWritersOut(t *testing.T) {
	refused, late := 0, 0
	for seed := range uint64(10) {
		e := run(t, spec("fenced", "fenced-write", seed))
		var last int64
		for _, op := range e.Ops {
			if op.F != history.FWrite || op.Type == history.Invoke {
				continue
			}
			if op.Time > op.Lease.Deadline {
				late++
			}
			if op.Reason == history.Stale {
				refused++
				continue
			}
			if op.Value[0] != last+1 {
				t.Fatalf("seed %d: entry %d writes %d after %d", seed, op.Index, op.Value[0], last)
			}
			last = op.Value[0]
		}
	}
	if refused == 0 || late < refused {
		t.Errorf("%d of %d late writes were refused; want some", refused, late)
	}
}
