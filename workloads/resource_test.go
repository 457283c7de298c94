package workloads

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// gaps returns an adapt for play that makes a lock let every client in at any time, with growing fences.
func gaps() func(*memoryLock) {
	var last int64
	return func(l *memoryLock) {
		l.free = true
		l.fence = func() int64 { last++; return last }
	}
}

func TestTheResourceRefusesAnOlderFenceForEver(t *testing.T) {
	r := &resource{fenced: true, values: make([]int64, 1)}
	type step struct {
		fence int64
		ok    bool
	}
	for i, s := range []step{{0, true}, {5, true}, {5, true}, {4, false}, {0, false}, {7, true}, {5, false}} {
		read := r.read(s.fence)
		wrote := r.write(s.fence, []int64{int64(i)})
		if read.stale == s.ok || wrote.stale == s.ok || (wrote.seq > 0) != s.ok {
			t.Errorf("step %d: fence %d: read %+v, wrote %+v, want %v", i, s.fence, read, wrote, s.ok)
		}
	}
	if r.values[0] != 5 {
		t.Errorf("a refused write is stored: %v", r.values)
	}
}

func TestARefusedWriteEndsTheLeaseOfCarefulAndTrustingClients(t *testing.T) {
	for _, trusting := range []bool{false, true} {
		opts := options
		opts.Trusting, opts.Clients = trusting, 2
		// The first client stops before its write, and the second gets in meanwhile.
		opts.Script = [][]Section{{{Late: 400 * time.Millisecond}}, {{Retry: 1}, {Retry: 1}}}
		ops := played(t, "mutex", &fakeEnv{fenced: true}, opts, gaps())
		i := slices.IndexFunc(ops, is(history.FWrite, history.Fail))
		if i < 0 || ops[i].Client != 0 || ops[i].Reason != history.Stale || ops[i].Seq != 0 || ops[i].Value != nil {
			t.Fatalf("trusting %v: no write of the first client was refused as stale: %+v", trusting, ops)
		}
		if lost := ops[i+1]; lost.F != history.FLost || lost.Client != 0 || lost.Lease == nil || *lost.Lease != *ops[i].Lease {
			t.Errorf("trusting %v: after the refusal comes %+v", trusting, lost)
		}
		touched := func(op history.Op) bool {
			return op.Client == 0 && (op.F == history.FRead || op.F == history.FWrite)
		}
		rest := ops[i+1:]
		if out := slices.IndexFunc(rest, is(history.FRelease, history.Invoke)); count(rest[:out], touched) != 0 {
			t.Errorf("trusting %v: touched again under the refused lease", trusting)
		}
	}
}

func TestALockWithoutFencesIsNotAskedForThem(t *testing.T) {
	ops := played(t, "mutex", &fakeEnv{}, options, func(l *memoryLock) {
		fence := int64(100)
		l.fence = func() int64 { fence--; return fence }
	})
	if n := count(ops, is(history.FWrite, history.Fail)); n > 0 || count(ops, is(history.FWrite, history.OK)) == 0 {
		t.Errorf("%d writes were refused", n)
	}
}

func TestALateWriteOutlastsTheLookBeforeIt(t *testing.T) {
	opts := options
	opts.Clients = 1
	opts.Script = [][]Section{{{Late: 2 * opts.TTL}}}
	for _, name := range []string{"mutex", "counter", "handoff", "lottery"} {
		var deadline time.Time
		ops := played(t, name, &fakeEnv{}, opts, func(l *memoryLock) {
			l.deadline = func() time.Time { deadline = time.Now().Add(opts.TTL); return deadline }
		})
		late := func(op history.Op) bool {
			return op.F == history.FWrite && op.Type == history.OK && op.Time > op.Lease.Deadline
		}
		healed := slices.IndexFunc(ops, is(history.FHealed, history.Info))
		if n := count(ops[:healed], late); n != 1 || count(ops[healed:], late) != 0 {
			t.Errorf("%s: %d writes came after their deadline, want 1 and none after the healing", name, n)
		}
	}
}

func TestALateSectionIsLateOnceAndNotInTheLivenessPhase(t *testing.T) {
	for _, name := range []string{"mutex", "counter", "handoff", "lottery"} {
		opts := options
		opts.Clients, opts.Trusting = 1, true
		opts.Script = [][]Section{{{Late: opts.TTL}}}
		ops := played(t, name, &fakeEnv{}, opts, nil)
		left := slices.IndexFunc(ops, is(history.FRelease, history.Invoke))
		if took := ops[left].Time; took < opts.TTL || took > opts.TTL*3/2 {
			t.Errorf("%s: the late section took %v, want %v and little more", name, took, opts.TTL)
		}
	}
	for seed := range uint64(40) { // outside the liveness phase, a sixth of the sections would be late
		opts := options
		opts.Seed, opts.Clients, opts.Duration = seed, 1, time.Microsecond
		ops := played(t, "fenced-write", &fakeEnv{fenced: true}, opts, nil)
		if last := ops[len(ops)-1].Time; last > opts.TTL {
			t.Errorf("seed %d: a client alone in the liveness phase was late: it ended at %v", seed, last)
		}
	}
}

func TestFencedWritesComeLateOnPurpose(t *testing.T) {
	w, _ := ByName("fenced-write")
	late := 0
	for n := range 600 {
		if d := w.Decide(options, 0, n).Late; d > 0 {
			late++
			if d <= options.TTL {
				t.Fatalf("section %d is late by %v, within its lease of %v", n, d, options.TTL)
			}
		}
	}
	if late < 70 || late > 130 {
		t.Errorf("%d of 600 writes come late, want about 100", late)
	}
	if w.Suits(history.Claims{}) || !w.Suits(history.Claims{Fenced: true}) {
		t.Error("it must suit fenced locks, and only these")
	}
}

func TestTheCounterShowsHowManyUpdatesWereLost(t *testing.T) {
	for _, good := range []bool{true, false} {
		ops := played(t, "counter", &fakeEnv{}, options, func(l *memoryLock) { l.free = !good })
		var last []int64
		writes := 0
		for _, op := range ops {
			if op.F == history.FWrite && op.Type == history.OK {
				last = op.Value
				writes++
			}
		}
		if writes < 20 || last[1] != int64(writes) || good != (last[0] == last[1]) {
			t.Errorf("good lock %v: %d of %d increments are left after %d writes", good, last[0], last[1], writes)
		}
	}
}

func TestExactlyOneInstanceDrawsTenWinnersInEveryRound(t *testing.T) {
	ops := played(t, "lottery", &fakeEnv{}, options, nil)
	by, winnersOf := map[int64]int{}, map[int64]int64{}
	tried := map[int64]map[int]bool{}
	for _, op := range ops {
		round := int64(op.Time/drawEvery(options)) + 1
		if op.F == history.FAcquire && op.Type == history.Invoke && op.Time < options.Duration {
			if tried[round] == nil {
				tried[round] = map[int]bool{}
			}
			if tried[round][op.Client] {
				t.Fatalf("client %d tried twice in round %d", op.Client, round)
			}
			tried[round][op.Client] = true
		}
		if op.F != history.FWrite || op.Type != history.OK {
			continue
		}
		draw := op.Value[0]
		if who, drawn := by[draw]; drawn && who != op.Client || op.Value[1] != winnersOf[draw]+1 {
			t.Fatalf("draw %d of client %d: client %d draws winner %d after %d", draw, who, op.Client, op.Value[1], winnersOf[draw])
		}
		by[draw], winnersOf[draw] = op.Client, op.Value[1]
	}
	if len(by) < 8 || len(tried) < 8 {
		t.Errorf("%d draws in %d rounds", len(by), len(tried))
	}
	for draw, n := range winnersOf {
		if n != winners {
			t.Errorf("draw %d has %d winners", draw, n)
		}
	}
	for round, clients := range tried {
		if len(clients) != options.Clients {
			t.Errorf("%d clients tried in round %d", len(clients), round)
		}
	}
}

func TestWhoGetsInAfterACrashTakesTheJobOver(t *testing.T) {
	var crashed atomic.Bool
	e := &fakeEnv{at: func(client int, step string) error {
		if client == 1 && step == testbed.StepTouch {
			crashed.Store(true)
		}
		if client == 1 && crashed.Load() {
			return testbed.ErrCrashed
		}
		return nil
	}}
	var takers []int64
	ops := played(t, "handoff", e, options, func(l *memoryLock) {
		l.try = func() error {
			if crashed.Load() {
				l.s.expire(l.key, 1)
			}
			return nil
		}
	})
	note := []int64{0, 0, parts}
	for _, op := range ops {
		if op.F != history.FWrite || op.Type != history.OK {
			continue
		}
		job, worker, done := op.Value[0], op.Value[1], op.Value[2]
		switch {
		case job == note[0]+1 && note[2] == parts && done == 0:
		case job == note[0] && worker == note[1] && done == note[2]+1:
		case job == note[0] && note[1] == 1 && crashed.Load() && done == note[2]:
			takers = append(takers, worker)
		default:
			t.Fatalf("entry %d: job %d of worker %d with %d done follows %v", op.Index, job, worker, done, note)
		}
		note = op.Value
	}
	if len(takers) != 1 || takers[0] == 1 || note[0] < 5 {
		t.Errorf("the crashed worker's job was taken over by %v, the last note is %v", takers, note)
	}
}
