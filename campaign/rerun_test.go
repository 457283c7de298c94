package campaign

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// stalledEvidence seems to show two holders at once, but the harness stalled for half a lease.
func stalledEvidence(t *testing.T, ttl time.Duration) history.Evidence {
	t.Helper()
	rec := recorder()
	for client := range 2 {
		op := history.Op{Process: history.Process(client), Client: client, F: history.FAcquire, Lock: "a"}
		if _, err := rec.Invoke(op); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		op.Type = history.OK
		if _, err := rec.Complete(op); err != nil {
			t.Fatal(err)
		}
	}
	stall := history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FStall, Offset: ttl / 2}
	if _, err := rec.Event(stall); err != nil {
		t.Fatal(err)
	}
	return history.Evidence{Ops: rec.Ops(), Claims: history.Claims{Quorum: 1, TTL: ttl}}
}

// unorderedEvidence has a key that expired while another client's command ran. The order of the two
// events is unknown.
func unorderedEvidence(t *testing.T) history.Evidence {
	t.Helper()
	rec := history.NewRecorder(nil, func() time.Duration { return 0 })
	in, err := rec.Invoke(history.Op{Process: 0, Client: 0, F: history.FAcquire, Lock: "l"})
	if err != nil {
		t.Fatal(err)
	}
	in.Type, in.Lease = history.OK, &history.Lease{}
	if _, err := rec.Complete(in); err != nil {
		t.Fatal(err)
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	held := &history.KeyContent{Type: "string", Value: "t", Expires: ms(20)}
	return history.Evidence{
		Ops: rec.Ops(), Claims: history.Claims{Quorum: 1, TTL: ms(1000), Recovery: ms(1000)}, Watched: true,
		Commands: []history.Command{
			{Client: 0, Op: 0, Node: "n0", Exec: 1, Args: []history.Bytes{"SET", "l", "t"}, Sent: ms(1), Served: ms(2)},
			{Client: 1, Op: -1, Node: "n0", Exec: 2, Args: []history.Bytes{"EVAL", "s", "1", "l"}, Sent: ms(19), Served: ms(21)},
		},
		Keys: []history.KeyChange{
			{Index: 0, Node: "n0", Key: "l", By: history.ByCommand, Exec: 1, From: ms(1), To: ms(2), After: held},
			{Index: 1, Node: "n0", Key: "l", By: history.ByUnknown, Exec: 2, From: ms(19), To: ms(21), Before: held},
		},
	}
}

func TestATrialWhoseOrderNobodySawIsRunAgain(t *testing.T) {
	raced(t)
	shown := []trial.Flaw{{Oracle: "exclusion", Cause: "unclassified"}}
	spec := soundSpec()
	for _, tt := range []struct {
		name   string
		sought []Sought
		trials []trial.Result
		again  int
	}{
		{name: "where nothing is decided", again: 1},
		{name: "not where another trial has decided", trials: []trial.Result{{Spec: spec, Outcome: trial.Violated, Flaws: shown}}},
		{name: "where a confirmation seeks nothing", sought: []Sought{{spec.Lock, "failover", "exclusion", "server-lost-key"}}, again: 1},
		{name: "where a confirmation misses what it seeks", sought: []Sought{{spec.Lock, spec.Fault, "exclusion", "unclassified"}}, again: 1},
		{name: "not where a confirmation has found what it seeks", sought: []Sought{{spec.Lock, spec.Fault, "exclusion", "unclassified"}},
			trials: []trial.Result{{Spec: spec, Outcome: trial.Violated, Flaws: shown}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			var d trial.Done
			d.Trial.Spec = spec
			if d.Judge(t.Context(), locks.Recipe{}, unorderedEvidence(t), nil); !d.Stalled {
				t.Fatalf("got %+v, want it run again", d.Trial)
			}
			r := &run{store: s, planner: &planner{}, trials: tt.trials}
			r.info.Sought = tt.sought
			r.take(t.Context(), job{spec: spec}, d)
			if jobs := r.reruns(t.Context(), 5); len(jobs) != tt.again || r.err != nil {
				t.Errorf("run again: %d trials, %v; want %d", len(jobs), r.err, tt.again)
			}
		})
	}
}

// A confirmation reruns undecided trials first in cells in which no flaw is sought: such a cell is
// undecided as long as one of its trials is undecided. In other cells, another trial may show the
// flaw.
func TestTrialsInWhoseCellsNothingIsSoughtAreRunAgainFirst(t *testing.T) {
	s := newStore(t)
	sought, clean := soundSpec(), soundSpec()
	sought.Fault, clean.Fault = "failover", "none"
	r := &run{store: s, planner: &planner{}}
	r.info.Sought = []Sought{{sought.Lock, sought.Fault, "exclusion", "server-lost-key"}}
	for _, spec := range []trial.Spec{sought, clean} {
		var d trial.Done
		d.Trial.Spec = spec
		d.Judge(t.Context(), locks.Recipe{}, unorderedEvidence(t), nil)
		r.take(t.Context(), job{spec: spec}, d)
	}
	if jobs := r.reruns(t.Context(), 1); len(jobs) != 1 || jobs[0].spec.Fault != clean.Fault || r.err != nil {
		t.Errorf("run again: %+v, %v; want the trial under %s", jobs, r.err, clean.Fault)
	}
}

// A trial that a stall spoilt is run again: two apparent holders prove nothing while the harness
// itself was not scheduled.
func TestATrialThatAStallSpoiltIsRunAgain(t *testing.T) {
	s := newStore(t)
	spec := soundSpec()
	e := stalledEvidence(t, spec.Options.TTL)

	// at judges the trial after the given number of earlier runs, and hands it to r.take.
	at := func(r *run, again int) {
		folder := r.folder(spec)
		if err := trial.MakeFolder(folder); err != nil {
			t.Fatal(err)
		}
		var d trial.Done
		d.Trial.Spec = spec
		d.Judge(t.Context(), locks.Recipe{}, e, nil)
		if !d.Stalled {
			t.Fatalf("not seen to have stalled: %+v", d)
		}
		d.Kept = true
		r.take(t.Context(), job{spec: spec, earlier: again}, d)
	}
	t.Run("twice", func(t *testing.T) {
		r := &run{store: s, planner: &planner{}}
		for again := range mostReruns {
			at(r, again)
			if jobs := r.reruns(t.Context(), 5); len(jobs) != 1 || jobs[0].earlier != again+1 || len(r.trials) > 0 {
				t.Fatalf("run %d: again %+v, recorded %d", again+1, jobs, len(r.trials))
			}
		}
		at(r, mostReruns)
		if len(r.spoilt) > 0 || len(r.trials) != 1 || r.trials[0].Outcome != trial.Unknown || r.err != nil {
			t.Errorf("%d set aside, recorded %+v, %v", len(r.spoilt), r.trials, r.err)
		}
	})
	t.Run("not beyond the budget", func(t *testing.T) {
		r := &run{store: s, planner: &planner{}}
		at(r, 0)
		if jobs := r.reruns(t.Context(), 0); len(jobs) > 0 || len(r.trials) != 1 || r.trials[0].Dir == "" || r.err != nil {
			t.Errorf("again %+v, recorded %+v, %v", jobs, r.trials, r.err)
		}
	})
}
