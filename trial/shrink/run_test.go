package shrink_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/shrink"
	"github.com/lockstorm/lockstorm/workloads"
)

// runner is a made-up shrink.Runner: each trial shows the flaw if shows says so.
type runner struct {
	shows func(trial.Spec) bool
	hash  func(keep bool) string
	err   error
	ran   int
}

func (r *runner) Run(_ context.Context, t trial.Task, _ func(history.Command)) (trial.Done, error) {
	r.ran++
	if r.err != nil {
		return trial.Done{}, r.err
	}
	d := trial.Done{Trial: flawed(t.Spec)}
	if !r.shows(t.Spec) {
		d.Trial = trial.Result{Spec: t.Spec, Outcome: trial.Holds, Hits: 1}
	}
	d.Trial.Hash = "same"
	if r.hash != nil {
		d.Trial.Hash = r.hash(t.Keep)
	}
	if !t.Keep {
		return d, nil
	}
	name := trial.HistoryFile
	if t.Compress {
		name += packed.Suffix
	}
	if err := trial.MakeFolder(t.Folder); err != nil {
		return d, err
	}
	return d, os.WriteFile(filepath.Join(t.Folder, name), []byte("smaller"), 0o666)
}

// flawed returns a trial of a spec that shows a flaw.
func flawed(s trial.Spec) trial.Result {
	return trial.Result{Spec: s, Outcome: trial.Violated, Flaws: []trial.Flaw{{Oracle: "exclusion", Cause: "lease-outlived"}}, Hits: 1}
}

func spec() trial.Spec {
	s := trial.Spec{Lock: "set-nx-px", Workload: "mutex", Fault: "client-pause", Testbed: "sim", Topology: testbed.Single}
	s.Options = workloads.Options{TTL: time.Second, Hold: 100 * time.Millisecond, Rest: 50 * time.Millisecond, Retry: 25 * time.Millisecond, Margin: 500 * time.Millisecond}
	s.Options.Clients, s.Options.Keys, s.Options.Duration = 3, 1, 2*time.Second
	for i := range 3 {
		s.Plan = append(s.Plan, nemesis.Action{ID: i + 1, Fault: "client-pause", Client: i, For: 1234 * time.Millisecond, By: s.Options.Duration})
	}
	return s
}

func always(trial.Spec) bool { return true }

// once shows the flaw in the first run only.
func once() func(trial.Spec) bool {
	ran := 0
	return func(trial.Spec) bool { ran++; return ran == 1 }
}

func TestRunStoresTheSmallestTrialOrSaysWhyNot(t *testing.T) {
	lost := errors.New("no worker")
	byKeep := func(keep bool) string { return fmt.Sprint(keep) }
	for name, c := range map[string]struct {
		on         runner
		trials     int
		over       bool // the budget is over before the search
		want       error
		unfinished string
	}{
		"found":                       {on: runner{shows: always}},
		"another history when stored": {on: runner{shows: always, hash: byKeep}, want: shrink.Varied},
		"not shown":                   {on: runner{shows: func(trial.Spec) bool { return false }}, want: shrink.NotShown},
		"no worker":                   {on: runner{err: lost}, want: lost},
		"trials end":                  {on: runner{shows: always}, trials: 2, unfinished: "not shrunk to the end: the budget of 2 trials was used up"},
		"trials end with nothing":     {on: runner{shows: once()}, trials: 3, want: shrink.NotShrunk("the budget of 3 trials was used up")},
		"one trial":                   {on: runner{shows: always}, trials: 1, want: shrink.NotShrunk("the budget of 1 trial was used up")},
		"time ends with nothing":      {on: runner{shows: always}, over: true, want: shrink.NotShrunk("the time budget of 1m0s was used up")},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "smallest")
			budget, end := context.WithCancelCause(t.Context())
			defer end(nil)
			if c.over {
				end(shrink.BudgetUsed(time.Minute))
			}
			got, err := shrink.Run(t.Context(), budget, c.trials, &c.on, flawed(spec()), folder)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if _, err := os.Stat(folder + ".part"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the search left its folder: %v", err)
			}
			_, missing := os.Stat(filepath.Join(folder, trial.HistoryFile))
			if stored := missing == nil; stored != (c.want == nil) {
				t.Errorf("stored is %v for the error %v", stored, err)
			}
			if c.want == nil && (got.Shrinking.Unfinished != c.unfinished || got.Shrinking.Trials != c.on.ran-1 ||
				got.Shrinking.From.Actions != 3 || c.unfinished == "" && got.Shrinking.To.Actions != 1) {
				t.Errorf("got %+v after %d runs, want unfinished %q", got.Shrinking, c.on.ran, c.unfinished)
			}
		})
	}
}

func TestACancelledRunIsNoVerdictOnTheTrial(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shrink.Run(ctx, ctx, 0, &runner{shows: always}, flawed(spec()), t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// stored writes a trial's folder, compressed or not.
func stored(t *testing.T, compressed bool) string {
	t.Helper()
	folder, name := t.TempDir(), trial.HistoryFile
	if compressed {
		name += packed.Suffix
	}
	err := os.WriteFile(filepath.Join(folder, name), nil, 0o666)
	if err := errors.Join(err, trial.WriteVerdict(folder, flawed(spec()))); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestTheSmallerTrialOfAStoredOneReplacesAnEarlierOne(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		folder := stored(t, compressed)
		minimal := filepath.Join(folder, trial.MinimalFolder)
		plain := filepath.Join(minimal, trial.HistoryFile)
		earlier, want := plain+packed.Suffix, plain
		if compressed {
			earlier, want = plain, plain+packed.Suffix
		}
		if err := errors.Join(trial.MakeFolder(minimal), os.WriteFile(earlier, []byte("earlier"), 0o666)); err != nil {
			t.Fatal(err)
		}
		if err := shrink.Stored(t.Context(), 0, &runner{shows: always}, flawed(spec()), folder); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(want); string(text) != "smaller" || err != nil {
			t.Errorf("compressed %v: got %q, %v, want the smaller trial", compressed, text, err)
		}
		if _, err := os.Stat(earlier); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("compressed %v: the earlier trial is still there: %v", compressed, err)
		}
	}
}

func TestAStoredTrialIsToldWhyItWasNotShrunk(t *testing.T) {
	folder := stored(t, false)
	if err := shrink.Stored(t.Context(), 1, &runner{shows: always}, flawed(spec()), folder); err != nil {
		t.Fatal(err)
	}
	var verdict struct{ Shrinking trial.Shrinking }
	err := packed.ReadJSON(filepath.Join(folder, trial.VerdictFile), &verdict)
	size := flawed(spec()).Size()
	if want := (trial.Shrinking{From: size, To: size, Trials: 1, NotShrunk: true, Unfinished: "the budget of 1 trial was used up"}); err != nil || verdict.Shrinking != want {
		t.Errorf("got %+v, %v, want %+v", verdict.Shrinking, err, want)
	}
}

func TestAKnownSmallerTrialStandsIfItStillShowsTheFlawByTheFault(t *testing.T) {
	lost := errors.New("no worker")
	smaller, calm := spec(), spec()
	smaller.Plan = smaller.Plan[:1]
	calm.Plan = nil
	for name, c := range map[string]struct {
		on   runner
		spec trial.Spec
		want bool
		err  error
	}{
		"shown":             {on: runner{shows: always}, spec: smaller, want: true},
		"no longer shown":   {on: runner{shows: func(trial.Spec) bool { return false }}, spec: smaller},
		"without the fault": {on: runner{shows: always}, spec: calm},
		"no worker":         {on: runner{err: lost}, spec: smaller, err: lost},
	} {
		folder := stored(t, false)
		if got, err := shrink.Stands(t.Context(), &c.on, flawed(spec()), c.spec, folder); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: stands is %v, %v, want %v, %v", name, got, err, c.want, c.err)
		}
		if got, err := shrink.Known(t.Context(), &c.on, flawed(spec()), c.spec, folder); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: known is %v, %v, want %v, %v", name, got, err, c.want, c.err)
		}
		_, missing := os.Stat(filepath.Join(folder, trial.MinimalFolder, trial.VerdictFile))
		if (missing == nil) != c.want {
			t.Errorf("%s: the verdict of the smaller trial: %v", name, missing)
		}
	}
}

func TestReplicasAreLeftOutUnlessTheFaultNeedsThem(t *testing.T) {
	for name, c := range map[string]struct {
		fault string
		nodes []string
		want  testbed.Topology
	}{
		"clients alone":       {"client-pause", nil, testbed.Single},
		"the primary":         {"node-pause", []string{"n0"}, testbed.Single},
		"a replica":           {"node-pause", []string{"n1"}, testbed.Replicated},
		"a failover":          {"failover", []string{"n0"}, testbed.Replicated},
		"an unknown disaster": {"no such fault", nil, testbed.Replicated},
	} {
		s := spec()
		s.Fault, s.Topology = c.fault, testbed.Replicated
		s.Plan = nemesis.Plan{{ID: 1, Fault: c.fault, Nodes: c.nodes, By: s.Options.Duration}}
		small, err := shrink.Search(t.Context(), s, func(_ context.Context, s trial.Spec) (bool, error) { return len(s.Plan) > 0, nil })
		if err != nil || small.Topology != c.want {
			t.Errorf("%s: shrunk to %s, %v, want %s", name, small.Topology, err, c.want)
		}
	}
}
