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
	s, err := createStore(t.TempDir(), "compare", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
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
		dir    string // the evidence of a run that holds is not kept
	}{
		"in doubt again":    {stalledTrial("client-pause", 1, inDoubtOf("exclusion", checker.Race)), 1, trial.Folder(stalledTrial("client-pause", 1).Spec)},
		"spoilt, and holds": {stalledTrial("client-pause", 1, trialtest.Verdict("exclusion", checker.Held)), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := createStore(t.TempDir(), "compare", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
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
			if cell := m.Cells[0]; cell.Verdict != trial.Unknown || cell.UndecidedDir != c.dir || m.ExitCode(false) != ExitUnknown {
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

// A run that shows an undeclared violation beyond doubt is recorded, whatever else it leaves in doubt. One with
// declared violations alone is replaced.
func TestOnlyARunWithoutAnUndeclaredViolationIsReplaced(t *testing.T) {
	for cause, again := range map[checker.Cause]int{checker.ForeignDelete: 1, checker.ServerLostKey: 0} {
		s, err := createStore(t.TempDir(), "compare", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		r := &run{store: s, planner: &planner{}}
		bug := stalledTrial("client-pause", 1, inDoubtOf("exclusion", checker.Race), trialtest.Violated("ownership", cause))
		r.take(t.Context(), job{spec: bug.Spec}, trial.Done{Trial: bug, Kept: true})
		if jobs := r.reruns(t.Context(), 1); len(jobs) != again || len(r.trials) != 1-again || r.err != nil {
			t.Errorf("%s: again %+v, recorded %d, %v", cause, jobs, len(r.trials), r.err)
		}
	}
}

// If a trial shows a flaw for certain and also has a doubt about the same flaw, the doubt causes no
// rerun, and the trial keeps its folder.
func TestWhatATrialShowsBesidesADoubtOfTheSameKeepsItsFolder(t *testing.T) {
	s, err := createStore(t.TempDir(), "compare", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
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
	info.Config.Trusting, info.Config.Keys = true, 2
	drawn := trial.Result{Spec: trial.Spec{Testbed: "container", Lock: "a", Fault: "none", Workload: "mutex", Trial: 3}}
	named := drawn
	named.Spec.Schedule = "none.some"
	for want, trial := range map[string]trial.Result{
		"lockstorm run --testbed container --locks a --faults none --workloads mutex --seed 1 --trials 4 --keys 2 --clients-trust --image=valkey/valkey:8 --addr=redis://user@host:6379/1":  drawn,
		"lockstorm replay --testbed container --lock a --fault none --workload mutex --schedule none.some --keys 2 --clients-trust --image=valkey/valkey:8 --addr=redis://user@host:6379/1": named,
	} {
		if got := replay(info, trial); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
