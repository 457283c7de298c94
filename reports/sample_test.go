package reports

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// testGlossary replaces the registries, so that golden files depend only on this package.
var testGlossary = glossary{
	Faults: []nemesis.Fault{
		{Name: "none", Doc: "nothing is disturbed: every violation is the recipe's own", Color: "#9e9e9e"},
		{Name: "client-crash", Doc: "a client stops for ever at a chosen point; it never releases", Color: "#d32f2f"},
		{Name: "client-pause", Doc: "a client freezes longer than the lease, then goes on", Color: "#f57c00"},
		{Name: "partition", Doc: "client and node are cut from each other", Color: "#1976d2"},
		{Name: "partition-requests", Doc: "requests are lost", Color: "#0288d1"},
		{Name: "partition-replies", Doc: "replies are lost", Color: "#0097a7"},
		{Name: "lost-reply", Doc: "a command runs, its reply never comes", Color: "#7b1fa2"},
		{Name: "delay", Doc: "requests or replies are delivered late", Color: "#fbc02d"},
		{Name: "reset", Doc: "connections are reset", Color: "#5d4037"},
		{Name: "node-pause", Doc: "Redis freezes", Color: "#00796b"},
		{Name: "node-restart", Doc: "Redis is killed and restarted", Color: "#388e3c"},
		{Name: "failover", Doc: "a replica is promoted", Color: "#c2185b"},
		{Name: "split-brain", Doc: "the old primary lives on with some clients", Color: "#880e4f"},
		{Name: "client-skew", Doc: "one client's wall clock is off", Color: "#afb42b"},
		{Name: "node-clock", Doc: "a node's wall clock jumps", Color: "#827717"},
		{Name: "script-flush", Doc: "SCRIPT FLUSH between calls", Color: "#455a64"},
		{Name: "eviction", Doc: "memory pressure makes a node evict its keys", Color: "#3949ab"},
		{Name: "chaos", Doc: "a mix, drawn from the seed, of the other faults that testbed and topology allow", Color: "#212121"},
	},
	Oracles: []checker.Oracle{
		{Name: "exclusion", Doc: "no two believed holds of one lock overlap"},
		{Name: "liveness", Doc: "waiting clients get in within the recovery time"},
	},
	Recipes: []locks.Recipe{{
		ID: "set-nx-px", Document: "D0, D2, D3", Summary: "SET key token NX PX; compare-and-delete",
		Flaws: []locks.Flaw{{Oracle: "exclusion", Cause: "lease-outlived", Kind: locks.Limit,
			Why: "a paused holder cannot know that its lease ended", Source: "Kleppmann 2016", Faults: []string{"client-pause"}}},
	}},
}

// sampleTrial is a trial in the form in which a campaign stores it.
type sampleTrial struct {
	Name  string
	Trial trial.Result
	history.Evidence
}

// alsoSampled names recorded trials of causes that no hand-made trial shows.
var alsoSampled = []string{"foreign-delete", "renewal-failed", "no-expiry"}

// sampleTrials returns the hand-made trials and some of the recorded trials.
func sampleTrials(tb testing.TB) []sampleTrial {
	var all []sampleTrial
	for _, s := range reporttest.Trials(tb) {
		all = append(all, sampleOf(s))
	}
	for _, name := range alsoSampled {
		all = append(all, recordedSample(tb, name))
	}
	return all
}

func recordedSample(tb testing.TB, name string) sampleTrial {
	tb.Helper()
	all := reporttest.Recorded(tb, "testdata/recorded")
	i := slices.IndexFunc(all, func(s reporttest.Trial) bool { return s.Name == name })
	if i < 0 {
		tb.Fatalf("no recorded trial %q", name)
	}
	return sampleOf(all[i])
}

// sampleOf converts a hand-made or recorded trial into a trial of a campaign's cell.
func sampleOf(s reporttest.Trial) sampleTrial {
	t := trial.Result{
		Spec: trial.Spec{
			Lock: s.Lock, Workload: s.Workload, Fault: s.Fault, Testbed: "process", Topology: s.Topology, Nodes: s.Nodes, Seed: 7,
			Options: workloads.Options{Clients: 3, Keys: 1, TTL: time.Second, Hold: 100 * time.Millisecond, Duration: 3 * time.Second, Seed: 7},
		},
		Outcome: trial.Violated, Kind: s.Kind, Verdicts: s.Verdicts,
		Hits: 1, Ops: len(s.Ops), Commands: len(s.Commands), Hash: history.Hash(s.Evidence),
		Dir: "trials/" + s.Lock + "/" + s.Fault + "/mutex-0", Elapsed: 3 * time.Second, Virtual: 20 * time.Minute,
	}
	if p := progress.Measure(s.Evidence); p != (progress.Measures{}) {
		t.Progress = &p
	}
	if s.Fault != "none" {
		t.Spec.Plan = nemesis.Plan{{}}
	}
	pairs, err := history.Pairs(s.Ops)
	if err != nil {
		panic(err)
	}
	for _, p := range pairs {
		if p.Complete != nil && p.Invoke.F == history.FAcquire && p.Complete.Type == history.OK {
			t.Acquires = append(t.Acquires, p.Complete.Time-p.Invoke.Time)
		}
	}
	for _, v := range s.Verdicts {
		for _, f := range v.Findings {
			t.Flaws = append(t.Flaws, trial.Flaw{Oracle: v.Oracle, Cause: string(f.Cause), Kind: s.Kind, Forever: f.Forever})
		}
	}
	t.Flaws = trial.Distinct(t.Flaws)
	if !slices.ContainsFunc(t.Flaws, func(f trial.Flaw) bool { return f.Oracle != "liveness" }) {
		t.Outcome = trial.Blocked
	}
	return sampleTrial{s.Name, t, s.Evidence}
}
