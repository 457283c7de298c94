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

func TestARunWithoutAStallSettlesADoubt(t *testing.T) {
	race := trial.Flaw{Oracle: "exclusion", Cause: "race"}
	short := inDoubtOf("exclusion", checker.LeaseOutlived) // a declared flaw
	crashed := found("client-pause", 0, 1)
	crashed.Err = "no free port"
	for name, c := range map[string]struct {
		again   trial.Result
		settled bool
	}{
		"it holds":                             {found("client-pause", 0, 1, trialtest.Verdict("exclusion", checker.Held)), true},
		"it shows it":                          {found("client-pause", 0, 1, trialtest.Violated("exclusion", checker.Race)), true},
		"it shows something else":              {found("client-pause", 0, 1, trialtest.Violated("exclusion", checker.LeaseOutlived)), true},
		"in doubt is what is declared":         {found("client-pause", 0, 1, short), true},
		"in doubt again":                       {found("client-pause", 0, 1, inDoubtOf("exclusion", checker.Race)), false},
		"it holds, but was spoilt":             {stalledTrial("client-pause", 0, trialtest.Verdict("exclusion", checker.Held)), false},
		"the fault hit nothing":                {found("client-pause", 0, 0, trialtest.Verdict("exclusion", checker.Held)), false},
		"the oracle could not tell":            {found("client-pause", 0, 1, trialtest.Verdict("exclusion", checker.Unknown)), false},
		"the harness could not finish":         {crashed, false},
		"nothing was acquired":                 {found("client-pause", 0, 1, trialtest.Verdict("exclusion", checker.NotApplicable)), false},
		"it shows it, or something else":       {found("client-pause", 0, 1, trialtest.Violated("exclusion", checker.Unclassified)), false},
		"in doubt it, or something else":       {found("client-pause", 0, 1, inDoubtOf("exclusion", checker.Unclassified)), false},
		"of that oracle there is no word":      {found("client-pause", 0, 1, trialtest.Verdict("resource", checker.Held)), false},
		"it holds for that oracle, not others": {found("client-pause", 0, 1, trialtest.Verdict("exclusion", checker.Held), trialtest.Verdict("resource", checker.Unknown)), true},
	} {
		again := c.again
		again.Runs = []trial.EarlierRun{{Doubtful: []trial.Flaw{race}, Dir: "d"}}
		inherit(&again)
		left := slices.ContainsFunc(again.Doubtful, race.Same)
		if left == c.settled {
			t.Errorf("%s: left in doubt: %t", name, left)
		}
		if left && !again.Violation() && again.Outcome != trial.Unknown {
			t.Errorf("%s: %s, want unknown as long as something is in doubt", name, again.Outcome)
		}
		told := settled([]trial.Result{again})
		if want := c.settled && !slices.ContainsFunc(again.Flaws, race.Same); (len(told) == 1 && told[0].Dir == "d") != want {
			t.Errorf("%s: told as settled: %+v, want %t", name, told, want)
		}
		if told := settled([]trial.Result{again, found("client-pause", 2, 1, trialtest.Violated("exclusion", checker.Race))}); len(told) > 0 {
			t.Errorf("%s: told as settled: %+v, though another trial showed it", name, told)
		}
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
	if len(jobs) != 1 || jobs[0].spec.Fault != "client-pause" || jobs[0].runs[0].Recorded || !slices.Equal(jobs[0].runs[0].Doubtful, []trial.Flaw{{Oracle: "exclusion", Cause: "race"}}) {
		t.Fatalf("again %+v, want the trial with an undeclared doubt", jobs)
	}
	r.take(t.Context(), jobs[0], trial.Done{Trial: found("client-pause", 1, 1, trialtest.Verdict("exclusion", checker.Held))})
	last := r.trials[len(r.trials)-1]
	if len(last.Doubtful) > 0 || len(r.spoilt) > 0 {
		t.Errorf("got %+v, want it settled", last)
	}
	if told := settled(r.trials); len(told) != 1 || told[0].Dir != trial.Folder(doubted.Spec) {
		t.Errorf("settled: %+v, want the doubt, with the folder of the run that showed it", told)
	}
	if _, err := os.Stat(r.folder(doubted.Spec)); err != nil {
		t.Error(err)
	}
}

// A doubt that no run settles makes the cell unknown, even if the last runs showed nothing.
func TestACellWithADoubtIsUndecided(t *testing.T) {
	for name, last := range map[string]trial.Result{
		"spoilt, and holds":     stalledTrial("client-pause", 1, trialtest.Verdict("exclusion", checker.Held)),
		"the fault hit nothing": found("client-pause", 1, 0, trialtest.Verdict("exclusion", checker.Held)),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := createStore(t.TempDir(), "compare", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			r := &run{store: s, planner: &planner{}}
			first := stalledTrial("client-pause", 1, inDoubtOf("exclusion", checker.Race))
			r.take(t.Context(), job{spec: first.Spec}, trial.Done{Trial: first, Kept: true, Stalled: true})
			for range mostReruns {
				jobs := r.reruns(t.Context(), 1)
				if len(jobs) != 1 {
					t.Fatalf("again %+v, want the trial", jobs)
				}
				r.take(t.Context(), jobs[0], trial.Done{Trial: last})
			}
			r.record(t.Context(), found("client-pause", 2, 1, trialtest.Verdict("exclusion", checker.Held)))
			info := Info{Config: DefaultConfig(), Plan: []PlannedCell{{Lock: "test-flawed", Fault: "client-pause", Workloads: []string{"mutex"}}}}
			info.Config.Trials = 2
			m := fold(info, "", r.trials)
			if c := m.Cells[0]; c.Verdict != trial.Unknown || c.UndecidedDir != trial.Folder(first.Spec) || m.ExitCode(false) != ExitUnknown {
				t.Errorf("cell %s (%s), exit code %d: want it undecided", c.Verdict, c.UndecidedDir, m.ExitCode(false))
			}
			if len(m.Doubtful) != 1 || m.Doubtful[0].Dir != trial.Folder(first.Spec) {
				t.Errorf("in doubt: %+v, want it, with the first run's folder", m.Doubtful)
			}
		})
	}
}

// A certain violation is recorded with its evidence. If the trial also leaves a doubt, another
// attempt, in a folder of its own, settles the doubt.
func TestAViolationIsRecordedThoughItIsRunAgain(t *testing.T) {
	s, err := createStore(t.TempDir(), "compare", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r := &run{store: s, planner: &planner{}}
	bug := stalledTrial("client-pause", 1, inDoubtOf("exclusion", checker.Race), trialtest.Violated("ownership", checker.ForeignDelete))
	if err := trial.MakeFolder(r.folder(bug.Spec)); err != nil {
		t.Fatal(err)
	}
	r.take(t.Context(), job{spec: bug.Spec}, trial.Done{Trial: bug, Kept: true})
	jobs := r.reruns(t.Context(), 1)
	if len(jobs) != 1 || len(jobs[0].runs) != 1 || jobs[0].spec.Attempt != 1 || len(jobs[0].runs[0].Doubtful) != 1 || r.progress.Total != 1 {
		t.Fatalf("again %+v of %d, want another attempt", jobs, r.progress.Total)
	}
	if len(r.trials) != 1 || r.trials[0].Outcome != trial.Violated || r.trials[0].Dir != trial.Folder(bug.Spec) {
		t.Fatalf("recorded %+v, want the violation", r.trials)
	}
	if _, err := os.Stat(r.folder(bug.Spec)); err != nil {
		t.Error(err)
	}
	info := Info{Config: DefaultConfig(), Plan: []PlannedCell{{Lock: "test-flawed", Fault: "client-pause", Workloads: []string{"mutex"}}}}
	info.Config.Trials = 2
	check := func(when string, doubts int) {
		t.Helper()
		m := fold(info, "", r.trials)
		if len(m.Doubtful) != doubts || m.Planned != 2 || m.Finished != 1 || !m.Interrupted || huntOf(info, r.trials).finished[cellFlaw{lock: "test-flawed", fault: "client-pause"}] != 1 {
			t.Errorf("%s: in doubt %+v, finished %d of %d; want %d in doubt, and one trial of two finished", when, m.Doubtful, m.Finished, m.Planned, doubts)
		}
	}
	check("before the next attempt", 1)
	last := found("client-pause", 1, 1, trialtest.Verdict("exclusion", checker.Held))
	r.take(t.Context(), jobs[0], trial.Done{Trial: last})
	check("settled", 0)
	if len(r.trials) != 2 || len(r.spoilt) > 0 || r.err != nil {
		t.Errorf("recorded %d, set aside %d, %v", len(r.trials), len(r.spoilt), r.err)
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

// The attempts at one trial in a confirming campaign have different folders.
func TestAttemptsOfAConfirmationAreToldApart(t *testing.T) {
	f := &confirmation{tried: map[string]int{}}
	p := &planner{confirm: f}
	spec := trial.Spec{Lock: "a", Fault: "f", Workload: "mutex"}
	for n := range 4 {
		if n%2 == 0 {
			spec = f.next(trial.Spec{Lock: "a", Fault: "f", Workload: "mutex"})
		} else {
			spec = p.nextAttempt(spec)
		}
		if spec.Attempt != n {
			t.Errorf("got attempt %d, want %d", spec.Attempt, n)
		}
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
