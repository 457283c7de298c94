package campaign

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/trial"
)

// inDoubtOf returns a verdict with a doubtful finding of the given cause.
func inDoubtOf(oracle string, cause checker.Cause) checker.Verdict {
	return checker.Verdict{Oracle: oracle, Result: checker.Unknown, Why: "the harness stood still", Doubtful: []checker.Finding{{Cause: cause, Summary: "s"}}}
}

// stalledTrial returns a trial that counts as spoilt by a stall of the machine.
func stalledTrial(fault string, k int, verdicts ...checker.Verdict) trial.Result {
	t := found(fault, k, 1, verdicts...)
	t.Spoilt = true
	return t
}

func TestWhatIsInDoubtIsUndecidedWhateverItsCellShows(t *testing.T) {
	bug := trialtest.Violated("ownership", checker.ForeignDelete)
	for name, c := range map[string]struct {
		trials []trial.Result
		want   []trial.Flaw
		code   int
	}{
		"declared":               {[]trial.Result{stalledTrial("client-pause", 0, inDoubtOf("exclusion", checker.LeaseOutlived), bug)}, nil, ExitExpected},
		"not declared":           {[]trial.Result{stalledTrial("client-pause", 0, inDoubtOf("exclusion", checker.Race), bug)}, []trial.Flaw{{Oracle: "exclusion", Cause: "race"}}, ExitUnknown},
		"shown by another trial": {[]trial.Result{stalledTrial("client-pause", 0, inDoubtOf("exclusion", checker.Race)), found("client-pause", 1, 1, trialtest.Violated("exclusion", checker.Race))}, nil, ExitUnexpected},
		"of a kind nobody knows": {[]trial.Result{stalledTrial("client-pause", 0, inDoubtOf("exclusion", checker.Unclassified), bug)}, []trial.Flaw{{Oracle: "exclusion", Cause: "unclassified"}}, ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			// All flaws that are declared under client-pause show.
			trials := append(c.trials, found("client-pause", 7, 1, trialtest.Violated("exclusion", checker.LeaseOutlived), bug))
			info := Info{Config: DefaultConfig(), Plan: []PlannedCell{{Lock: "test-flawed", Fault: "client-pause"}}}
			m := fold(info, "", trials)
			m.Missed = nil // flaws of other faults are missed too
			var got []trial.Flaw
			for _, d := range m.Doubtful {
				if d.Lock != "test-flawed" || d.Fault != "client-pause" {
					t.Errorf("in doubt: %+v, want it of client-pause", d)
				}
				got = append(got, d.Flaws...)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("in doubt: %+v, want %+v", got, c.want)
			}
			if code := m.ExitCode(true); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if code := m.ExitCode(false); code != ExitExpected && code != ExitUnknown {
				t.Errorf("without --expect exit code %d", code)
			}
		})
	}
}

func TestTheUndeclaredInDoubtIsRunAgainFirst(t *testing.T) {
	s := newStore(t)
	declared := found("client-pause", 9, 1, trialtest.Violated("exclusion", checker.LeaseOutlived))
	r := &run{store: s, planner: &planner{}, trials: []trial.Result{declared}}
	other := stalledTrial("delay", 0, inDoubtOf("ownership", checker.ForeignDelete)) // a declared flaw, in an undecided cell
	doubted := stalledTrial("client-pause", 1, inDoubtOf("exclusion", checker.Race)) // in a decided cell
	if err := trial.MakeFolder(r.folder(doubted.Spec)); err != nil {
		t.Fatal(err)
	}
	for _, result := range []trial.Result{other, doubted} {
		r.take(t.Context(), job{spec: result.Spec}, trial.Done{Trial: result, Kept: true, Stalled: true})
	}
	jobs := r.reruns(t.Context(), 1)
	if len(jobs) != 1 || jobs[0].spec.Fault != "client-pause" {
		t.Fatalf("again %+v, want the trial with an undeclared doubt", jobs)
	}
	if r.begin(jobs[0]); r.err != nil {
		t.Fatal(r.err)
	}
	if _, err := os.Stat(r.folder(doubted.Spec)); err == nil {
		t.Error("the evidence of the spoilt run is still there")
	}
	r.take(t.Context(), jobs[0], trial.Done{Trial: found("client-pause", 1, 1, trialtest.Verdict("exclusion", checker.Held))})
	if last := r.trials[len(r.trials)-1]; last.Outcome != trial.Holds || len(r.spoilt) > 0 {
		t.Errorf("got %+v, want the undisturbed run", last)
	}
}

// The last run of a spoilt trial counts: if all were disturbed, the trial is undecided, whatever the last one shows.
func TestACellWithADoubtIsUndecided(t *testing.T) {
	for name, c := range map[string]struct {
		last   trial.Result
		doubts int
	}{
		"in doubt again":    {stalledTrial("client-pause", 1, inDoubtOf("exclusion", checker.Race)), 1},
		"spoilt, and holds": {stalledTrial("client-pause", 1, trialtest.Verdict("exclusion", checker.Held)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			r := &run{store: s, planner: &planner{}}
			first := stalledTrial("client-pause", 1, inDoubtOf("exclusion", checker.Race))
			first.Stall = time.Second
			r.take(t.Context(), job{spec: first.Spec}, trial.Done{Trial: first, Kept: true, Stalled: true})
			for range mostReruns {
				jobs := r.reruns(t.Context(), 1)
				if len(jobs) != 1 {
					t.Fatalf("again %+v, want the trial", jobs)
				}
				r.take(t.Context(), jobs[0], trial.Done{Trial: c.last, Kept: true})
			}
			r.record(t.Context(), found("client-pause", 2, 1, trialtest.Verdict("exclusion", checker.Held)))
			info := Info{Config: DefaultConfig(), Plan: []PlannedCell{{Lock: "test-flawed", Fault: "client-pause", Workloads: []string{"mutex"}}}}
			info.Config.Trials = 2
			m := fold(info, "", r.trials)
			if cell := m.Cells[0]; cell.Verdict != trial.Unknown || cell.UndecidedDir != trial.Folder(first.Spec) || m.ExitCode(false) != ExitUnknown {
				t.Errorf("cell %s (%s), exit code %d: want it undecided", cell.Verdict, cell.UndecidedDir, m.ExitCode(false))
			}
			if len(m.Doubtful) != c.doubts || m.Planned != 2 || m.Finished != 2 {
				t.Errorf("in doubt: %+v, finished %d of %d", m.Doubtful, m.Finished, m.Planned)
			}
			if words := (Stored{Trials: r.trials}).StallWords(); !strings.Contains(words, "stalled in 1 of 2 trials, longest 1000.0 ms") {
				t.Errorf("it says %q", words)
			}
		})
	}
}

// A run that shows a violation beyond doubt is recorded, whatever else it leaves in doubt.
func TestARunWithAViolationIsNotReplaced(t *testing.T) {
	r := &run{store: newStore(t), planner: &planner{}}
	bug := stalledTrial("client-pause", 1, inDoubtOf("exclusion", checker.Race), trialtest.Violated("ownership", checker.ForeignDelete))
	r.take(t.Context(), job{spec: bug.Spec}, trial.Done{Trial: bug, Kept: true})
	if jobs := r.reruns(t.Context(), 1); len(jobs) > 0 || len(r.trials) != 1 || r.err != nil {
		t.Errorf("again %+v, recorded %d, %v", jobs, len(r.trials), r.err)
	}
}

// A spoilt run counts if the harness could not finish its rerun, or if the campaign ended before it did.
func TestARunWhoseRerunDoesNotEndCounts(t *testing.T) {
	crashed := found("client-pause", 1, 1)
	crashed.Err = "no free port"
	for name, again := range map[string]*trial.Result{"failed": &crashed, "interrupted": nil} {
		t.Run(name, func(t *testing.T) {
			r := &run{store: newStore(t), planner: &planner{}}
			first := stalledTrial("client-pause", 1, inDoubtOf("exclusion", checker.Race))
			r.take(t.Context(), job{spec: first.Spec}, trial.Done{Trial: first, Kept: true, Stalled: true})
			jobs := r.reruns(t.Context(), 1)
			if len(jobs) != 1 || len(r.trials) > 0 {
				t.Fatalf("again %+v, recorded %+v", jobs, r.trials)
			}
			if again != nil {
				r.begin(jobs[0])
				r.take(t.Context(), jobs[0], trial.Done{Trial: *again})
				r.reruns(t.Context(), 0)
			}
			r.unreplaced(t.Context())
			if len(r.trials) != 1 || r.trials[0].Outcome != trial.Unknown || len(r.trials[0].Doubtful) != 1 || r.err != nil {
				t.Errorf("recorded %+v, %v; want the first run", r.trials, r.err)
			}
		})
	}
}

// newStore returns a store that is closed after the test.
func newStore(t *testing.T) *store {
	t.Helper()
	s, err := createStore(t.TempDir(), "compare", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	return s
}

// If a trial shows a flaw for certain and also has a doubt about the same flaw, the doubt causes no
// rerun, and the trial keeps its folder.
func TestWhatATrialShowsBesidesADoubtOfTheSameKeepsItsFolder(t *testing.T) {
	s := newStore(t)
	r := &run{store: s, planner: &planner{}}
	race := trialtest.Violated("exclusion", checker.Race)
	race.Doubtful = []checker.Finding{{Cause: checker.Race, Summary: "a shorter one"}}
	result := stalledTrial("client-pause", 1, race)
	if err := trial.MakeFolder(r.folder(result.Spec)); err != nil {
		t.Fatal(err)
	}
	r.take(t.Context(), job{spec: result.Spec}, trial.Done{Trial: result, Kept: true, Stalled: true})
	if jobs := r.reruns(t.Context(), 1); len(jobs) > 0 || len(r.trials) != 1 {
		t.Errorf("again %+v, recorded %d, want it recorded and not run again", jobs, len(r.trials))
	}
	if _, err := os.Stat(r.folder(result.Spec)); err != nil {
		t.Error(err)
	}
}

func TestADoubtIsToldInOneLine(t *testing.T) {
	d := Doubt{Lock: "a", Fault: "f", Flaws: []trial.Flaw{{Oracle: "exclusion", Cause: "race"}, {Oracle: "resource", Cause: "race"}}}
	if got := d.Words(); !strings.HasPrefix(got, "exclusion by race, resource by race in doubt, not declared: "+Excuse) || strings.Contains(got, "\n") {
		t.Errorf("got %q", got)
	}
}

func TestAReplayLineHasTheFlagsOfItsTestbed(t *testing.T) {
	info := Info{Config: DefaultConfig()}
	info.Config.TestbedFlags = []string{"--image=valkey/valkey:8", "--addr=redis://user@host:6379/1"}
	info.Config.Trusting, info.Config.Keys, info.Config.CommandTimeout = true, 2, 3*time.Second
	drawn := trial.Result{Spec: trial.Spec{Testbed: "container", Lock: "a", Fault: "none", Workload: "mutex", Trial: 3}}
	named := drawn
	named.Spec.Schedule = "none.some"
	for want, trial := range map[string]trial.Result{
		"lockstorm run --testbed container --locks a --faults none --workloads mutex --seed 1 --trials 4 --keys 2 --command-timeout 3s --clients-trust --image=valkey/valkey:8 --addr=redis://user@host:6379/1":  drawn,
		"lockstorm replay --testbed container --lock a --fault none --workload mutex --schedule none.some --keys 2 --command-timeout 3s --clients-trust --image=valkey/valkey:8 --addr=redis://user@host:6379/1": named,
	} {
		if got := replay(info, trial); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
