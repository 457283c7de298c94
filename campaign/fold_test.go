package campaign

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func init() {
	locks.Register(locks.Recipe{ID: "test-flawed", Topology: locks.Single, Flaws: []locks.Flaw{
		{Oracle: "exclusion", Cause: "lease-outlived", Kind: locks.Limit, Why: "w", Source: "s", Faults: []string{"client-pause"}},
		{Oracle: "ownership", Cause: "foreign-delete", Kind: locks.Bug, Why: "w", Source: "s", Faults: []string{"delay", "client-pause"}},
		{Oracle: "liveness", Cause: "no-expiry", Kind: locks.Bug, Why: "w", Source: "s", Faults: []string{"client-crash"}},
		{Oracle: "liveness", Cause: "late-command", Kind: locks.Limit, Why: "w", Source: "s", Faults: []string{"failover"}},
	}})
}

// found makes a judged trial of test-flawed.
func found(fault string, k, hits int, verdicts ...checker.Verdict) trial.Result {
	t := trial.Result{
		Spec: trial.Spec{Lock: "test-flawed", Workload: "mutex", Fault: fault, Testbed: "fake", Seed: trialSeed(1, "test-flawed", fault, "mutex", k), Trial: k},
		Hits: hits, Verdicts: verdicts,
	}
	if fault != undisturbed {
		t.Spec.Plan = nemesis.Plan{{ID: 1, Fault: fault}}
	}
	r, _ := locks.ByID("test-flawed")
	t.Weigh(r.Flaws)
	return t
}

// comparison returns a campaign whose cells have all verdicts between them.
func comparison() (Info, []trial.Result) {
	held := trialtest.Verdict("exclusion", checker.Held)
	failed := found("reset", 0, 0)
	failed.Err = "no free port"
	failed.Weigh(nil)
	info := Info{Config: DefaultConfig(), Command: "lockstorm run"}
	info.Config.Testbed = "fake"
	for _, fault := range []string{"none", "client-crash", "client-pause", "partition", "lost-reply", "delay", "reset", "node-pause", "failover"} {
		info.Plan = append(info.Plan, PlannedCell{Lock: "test-flawed", Fault: fault})
	}
	info.Plan[len(info.Plan)-1].NotSupported = &nemesis.Unsupported{Fault: "failover", Why: nemesis.NoTopology, Topology: testbed.Replicated}
	return info, []trial.Result{
		found("none", 0, 0, held),
		found("none", 1, 0, held, trialtest.Verdict("liveness", checker.Held)),
		found("client-crash", 0, 1, held, trialtest.BlockedForEver(trialtest.Violated("liveness", checker.NoExpiry))),
		found("client-pause", 2, 1, trialtest.Violated("exclusion", checker.LeaseOutlived)),
		found("client-pause", 1, 1, trialtest.Violated("exclusion", checker.LeaseOutlived), trialtest.Violated("ownership", checker.ForeignDelete)),
		found("client-pause", 0, 1, held),
		found("partition", 0, 3, held, trialtest.Verdict("resource", checker.Unknown)),
		found("partition", 1, 3, held),
		found("lost-reply", 0, 0, held),
		found("lost-reply", 1, 0, held),
		found("delay", 0, 0, held),
		found("delay", 1, 2, held),
		failed,
		found("node-pause", 0, 1, held, trialtest.Violated("liveness", checker.OrphanedKey)),
	}
}

func TestMatrixIsStableForOtherPrograms(t *testing.T) {
	info, trials := comparison()
	got, err := json.MarshalIndent(fold(info, "store/compare/x", trials), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	slices.Reverse(trials)
	if again, _ := json.MarshalIndent(fold(info, "store/compare/x", trials), "", "  "); !bytes.Equal(append(again, '\n'), got) {
		t.Error("the order in which trials ended shows")
	}
	golden := filepath.Join("testdata", MatrixFile)
	if *update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCellsInWords(t *testing.T) {
	info, trials := comparison()
	want := map[string]string{
		"none":         "no violation in 2 trials",
		"client-crash": "blocked for ever",
		"client-pause": "violated: bug",
		"partition":    "unknown",
		"lost-reply":   "fault not exercised",
		"delay":        "no violation in 1 trial",
		"reset":        "unknown",
		"node-pause":   "blocked up to TTL",
		"failover":     "not supported",
	}
	for _, c := range fold(info, "", trials).Cells {
		if c.Words() != want[c.Fault] {
			t.Errorf("%s: %q, want %q", c.Fault, c.Words(), want[c.Fault])
		}
	}
}

func TestDiscrepanciesAreWhatRecipesDoNotDeclareAndWhatWasNotFound(t *testing.T) {
	info, trials := comparison()
	m := fold(info, "", trials)
	if want := (Discrepancy{Lock: "test-flawed", Fault: "node-pause", Oracle: "liveness", Cause: "orphaned-key"}); len(m.Unexpected) != 1 || m.Unexpected[0] != want {
		t.Errorf("unexpected: %+v, want %+v", m.Unexpected, want)
	}
	if len(m.Missed) != 0 {
		t.Errorf("missed: %+v; what cannot be tried is not missed", m.Missed)
	}
	trials = slices.DeleteFunc(trials, func(t trial.Result) bool { return t.Spec.Fault == "client-crash" || t.Spec.Trial == 1 })
	want := []Discrepancy{
		{Lock: "test-flawed", Fault: "client-crash", Oracle: "liveness", Cause: "no-expiry"},
		{Lock: "test-flawed", Fault: "client-pause,delay", Oracle: "ownership", Cause: "foreign-delete"},
	}
	if m = fold(info, "", trials); !slices.Equal(m.Missed, want) {
		t.Errorf("missed: %+v, want %+v", m.Missed, want)
	}
}

func TestExitCodes(t *testing.T) {
	cell := func(o trial.Outcome, causes ...string) []Cell { return []Cell{{Verdict: o, Causes: causes}} }
	differing := []Discrepancy{{Cause: "race"}}
	tests := []struct {
		name           string
		matrix         Matrix
		plain, expects int
	}{
		{"holds", Matrix{Cells: cell(trial.Holds)}, 0, 0},
		{"finding what is declared is the job", Matrix{Cells: cell(trial.Violated, "race")}, 0, 0},
		{"undeclared", Matrix{Cells: cell(trial.Violated, "race"), Unexpected: differing}, 0, 1},
		{"missed", Matrix{Cells: cell(trial.Holds), Missed: differing}, 0, 1},
		{"unknown", Matrix{Cells: cell(trial.Unknown)}, 2, 2},
		{"a cause that cannot be told", Matrix{Cells: cell(trial.Violated, "unclassified"), Unexpected: []Discrepancy{{Cause: "unclassified"}}}, 0, 1},
		{"unexpected outranks unknown", Matrix{Cells: cell(trial.Unknown), Unexpected: differing}, 2, 1},
		{"a failed trial outranks all", Matrix{Cells: cell(trial.Unknown), Unexpected: differing, Failed: []trial.Result{{}}}, 255, 255},
		{"a fault that hit nothing is not as expected", Matrix{Cells: cell(trial.NotExercised)}, 0, 1},
		{"what a testbed cannot do was not expected of it", Matrix{Cells: cell(trial.NotSupported)}, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.matrix.ExitCode(false); got != test.plain {
				t.Errorf("got %d, want %d", got, test.plain)
			}
			if got := test.matrix.ExitCode(true); got != test.expects {
				t.Errorf("with expect: got %d, want %d", got, test.expects)
			}
		})
	}
}

func TestBoundIsExactAndNearThreeOfNForMany(t *testing.T) {
	tests := []struct {
		n     int
		low   float64
		high  float64
		words string
	}{
		{0, 1, 1, "too few trials for a bound"},
		{1, 0.949, 0.951, "too few trials for a bound"},
		{3, 0.63, 0.64, "too few trials for a bound"},
		{10, 0.25, 0.26, "95 % bound: at most 26 % of trials"},
		{300, 0.0099, 0.01, "95 % bound: at most 0.99 % of trials"},
	}
	for _, test := range tests {
		c := Cell{Exercised: test.n + 7, Enumerated: 7} // the 7 named trials do not count for the bound
		if got := c.Bound(); got < test.low || got > test.high {
			t.Errorf("%d trials: got %v, want %v to %v", test.n, got, test.low, test.high)
		}
		if got := c.BoundWords(); got != test.words {
			t.Errorf("%d trials: got %q, want %q", test.n, got, test.words)
		}
	}
}

func TestCellsCountTheirOwnVerdictAmongDecidedTrials(t *testing.T) {
	held, unsure := trialtest.Verdict("exclusion", checker.Held), trialtest.Verdict("resource", checker.Unknown)
	unsure.Why = "the harness itself was not scheduled for 40 ms"
	orphan := trialtest.Violated("liveness", checker.OrphanedKey)
	kept := func(t trial.Result) trial.Result { t.Dir = trial.Folder(t.Spec); return t }
	tests := []struct {
		name                        string
		trials                      []trial.Result
		shown, exercised, undecided int
		why                         string
	}{
		{"an undecided trial counts for nobody", []trial.Result{
			found("client-pause", 0, 1, trialtest.Violated("ownership", checker.ForeignDelete)), found("client-pause", 1, 1, held, unsure),
		}, 1, 1, 1, "resource: the harness itself was not scheduled for 40 ms"},
		{"a limit is no bug", []trial.Result{
			found("client-pause", 0, 1, trialtest.Violated("ownership", checker.ForeignDelete)),
			found("client-pause", 1, 1, trialtest.Violated("exclusion", checker.LeaseOutlived)), found("client-pause", 2, 1, held),
		}, 1, 3, 0, ""},
		{"up to TTL is not for ever", []trial.Result{
			found("client-crash", 0, 1, trialtest.BlockedForEver(trialtest.Violated("liveness", checker.NoExpiry))), found("client-crash", 1, 1, orphan),
		}, 1, 2, 0, ""},
		{"only what holds is counted as no violation", []trial.Result{
			found("delay", 0, 1, held), found("delay", 1, 0, held),
		}, 1, 1, 0, ""},
		{"unknown cells too", []trial.Result{
			found("delay", 0, 1, held), kept(found("delay", 1, 1, held, unsure)), kept(found("delay", 2, 1, held, unsure)),
		}, 2, 1, 2, "resource: the harness itself was not scheduled for 40 ms"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := test.trials[0].Spec
			info := Info{Plan: []PlannedCell{{Lock: spec.Lock, Fault: spec.Fault}}}
			c := fold(info, "", test.trials).Cells[0]
			if c.Shown != test.shown || c.Exercised != test.exercised || c.Undecided != test.undecided || c.UndecidedWhy != test.why {
				t.Errorf("got %d of %d, undecided %d (%q); want %d of %d, undecided %d (%q)",
					c.Shown, c.Exercised, c.Undecided, c.UndecidedWhy, test.shown, test.exercised, test.undecided, test.why)
			}
			i := slices.IndexFunc(test.trials, func(t trial.Result) bool { return t.Outcome == trial.Unknown })
			if i >= 0 && c.UndecidedDir != test.trials[i].Dir {
				t.Errorf("undecided in %q, want %q", c.UndecidedDir, test.trials[i].Dir)
			}
		})
	}
}

// A cell's example is a trial whose fault hit something. A violated trial counts even if its fault
// hit nothing, but another trial with the same verdict says more about the fault.
func TestACellIsToldByATrialWhoseFaultHit(t *testing.T) {
	race := trialtest.Violated("exclusion", checker.Race)
	program := trialtest.Violated("draws", checker.Unmarked)
	trials := []trial.Result{found("delay", 0, 0, race), found("delay", 1, 3, race, program), found("delay", 2, 3, race), found("delay", 3, 0, trialtest.Verdict("exclusion", checker.Held))}
	c := fold(Info{Plan: []PlannedCell{{Lock: trials[0].Spec.Lock, Fault: "delay"}}}, "", trials).Cells[0]
	if c.Shown != 3 || c.Violations != 3 || c.Exercised != 3 || c.Unstruck != 1 {
		t.Errorf("%d of %d show it, %d violations, %d of them without a hit; want 3 of 3, 3 and 1", c.Shown, c.Exercised, c.Violations, c.Unstruck)
	}
	if !strings.Contains(c.Replay, "--trials 3 ") {
		t.Errorf("it is told by %s, want the third trial, whose fault hit something and whose program is not to blame", c.Replay)
	}
	first, second := trials[0], trials[2]
	first.Dir, second.Dir = "x", "y"
	var s shown
	s.add(first)
	if !second.ShowsMore(s.enough(second.Spec)) {
		t.Error("the trial that tells the cell's story is not stored")
	}
	s.add(second)
	third := trials[2]
	third.Spec.Trial = 4
	if third.ShowsMore(s.enough(third.Spec)) {
		t.Error("a further one like it is stored")
	}
}

func TestFewerTrialsThanPlannedAreAnInterruptedCampaign(t *testing.T) {
	held := trialtest.Verdict("exclusion", checker.Held)
	failed := found("none", 0, 0)
	failed.Err, failed.Probe, failed.Outcome = "no free port", true, trial.Unknown
	all := []trial.Result{found("none", 0, 0, held), found("none", 1, 0, held), found("delay", 0, 1, held), found("delay", 1, 1, held)}
	info := Info{Plan: []PlannedCell{
		{Lock: "test-flawed", Fault: "none", Workloads: []string{"mutex"}},
		{Lock: "test-flawed", Fault: "delay", Workloads: []string{"mutex"}},
		{Lock: "test-flawed", Fault: "failover", Workloads: []string{"mutex"}, NotSupported: &nemesis.Unsupported{Why: nemesis.NoWorkload}},
	}}
	info.Config.Trials = 2
	named := func(k int) trial.Result {
		x := found("delay", k, 1, held)
		x.Spec.Schedule = "s" + x.Spec.Number()
		return x
	}
	tests := []struct {
		name              string
		named             int // planned named schedules
		trials            []trial.Result
		planned, finished int
		interrupted       bool
	}{
		{"all were run", 0, all, 4, 4, false},
		{"one is missing", 0, all[:3], 4, 3, true},
		{"nothing follows a failed probe", 0, []trial.Result{failed}, 0, 0, false},
		{"all, named ones too", 2, append(slices.Clone(all), named(0), named(1)), 6, 6, false},
		{"a drawn one is missing", 2, append(slices.Clone(all[:3]), named(0), named(1)), 6, 5, true},
		{"a named one is missing", 2, append(slices.Clone(all), named(0)), 6, 5, true},
	}
	for _, test := range tests {
		info.Plan[1].Named = test.named
		m := fold(info, "", test.trials)
		if m.Planned != test.planned || m.Finished != test.finished || m.Interrupted != test.interrupted {
			t.Errorf("%s: got %d of %d, interrupted %v", test.name, m.Finished, m.Planned, m.Interrupted)
		}
	}
}
