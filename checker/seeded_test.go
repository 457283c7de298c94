package checker

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// A bug is a mistake that one of the two checkers of exclusion, sweep or porcupine, could make: the
// checker misreads the evidence in one respect.
type bug struct {
	name    string
	claims  history.Claims
	misread func(history.Evidence) history.Evidence
	text    string // a history that reveals the bug
}

// each returns a copy of e in which change has edited each entry, or dropped it by returning false.
func each(e history.Evidence, change func(*history.Op) (keep bool)) history.Evidence {
	var ops []history.Op
	for _, op := range e.Ops {
		if op.Lease != nil {
			l := *op.Lease
			op.Lease = &l
		}
		if change(&op) {
			ops = append(ops, op)
		}
	}
	e.Ops = ops
	return e
}

var bugs = []bug{
	{"ignores deadlines", history.Claims{}, func(e history.Evidence) history.Evidence {
		return each(e, func(op *history.Op) bool {
			if op.Lease != nil {
				op.Lease.Deadline = 0
			}
			return true
		})
	}, `
		c0 acquire 1-2 ok deadline=5
		c1 acquire 6-7 ok
		c0 release 8-9 ok`},
	{"takes every clock for a good one", history.Claims{}, func(e history.Evidence) history.Evidence {
		return each(e, func(op *history.Op) bool { return op.F != history.FClock })
	}, `
		nemesis clock c0 0 offset=-50
		c0 acquire 1-2 ok deadline=5
		c1 acquire 6-7 ok
		c0 release 80-81 ok`},
	{"does not see crashes", history.Claims{}, func(e history.Evidence) history.Evidence {
		return each(e, func(op *history.Op) bool { return op.F != history.FCrash })
	}, `
		c0 acquire 1-2 ok
		nemesis crash c0 4
		c1 acquire 6-7 ok`},
	{"does not see losses", history.Claims{}, func(e history.Evidence) history.Evidence {
		return each(e, func(op *history.Op) bool { return op.F != history.FLost })
	}, `
		c0 acquire 1-2 ok
		c0 lost 4
		c1 acquire 6-7 ok`},
	{"believes in acquires of unknown outcome", history.Claims{}, func(e history.Evidence) history.Evidence {
		return each(e, func(op *history.Op) bool {
			if op.F == history.FAcquire && op.Type == history.Info {
				op.Type = history.OK
			}
			return true
		})
	}, `
		c0 acquire 1-2 info
		c1 acquire 6-7 ok`},
	{"lets readers disturb each other", history.Claims{ReadWrite: true}, func(e history.Evidence) history.Evidence {
		return each(e, func(op *history.Op) bool {
			op.Mode = ""
			return true
		})
	}, `
		c0 acquire 1-2 ok mode=read
		c1 acquire 1-3 ok mode=read`},
	{"frees a reentrant lock at its first release", history.Claims{Reentrant: true}, func(e history.Evidence) history.Evidence {
		open := map[int]bool{}
		return each(e, func(op *history.Op) bool {
			if op.F == history.FAcquire && op.Type == history.OK {
				if open[op.Client] {
					op.Type = history.Fail
				}
				open[op.Client] = true
			}
			return true
		})
	}, `
		c0 acquire 1-2 ok
		c0 acquire 3-4 ok
		c0 release 5-6 ok
		c1 acquire 6-7 ok
		c0 release 8-9 ok`},
	{"holds on until the release is answered", history.Claims{}, func(e history.Evidence) history.Evidence {
		ends := map[history.Process]int{}
		e = each(e, func(*history.Op) bool { return true })
		for i := len(e.Ops) - 1; i >= 0; i-- {
			op := &e.Ops[i]
			if op.F == history.FRelease && op.Type != history.Invoke {
				ends[op.Process] = i
			} else if at, ok := ends[op.Process]; ok && op.F == history.FRelease {
				late := *op
				late.Time = e.Ops[at].Time
				e.Ops = slices.Insert(e.Ops, at, late)
				e.Ops = slices.Delete(e.Ops, i, i+1)
				delete(ends, op.Process)
			}
		}
		for i := range e.Ops {
			e.Ops[i].Index = i
		}
		return e
	}, `
		c0 acquire 1-2 ok
		c0 release 5-9 ok
		c1 acquire 6-7 ok`},
}

// A mistake in the sweep or in porcupine must lead to ErrDisagree.
func TestABugInEitherCheckerIsCaughtByTheOther(t *testing.T) {
	ctx := context.Background()
	for _, b := range bugs {
		e := history.Evidence{Ops: histories.Timeline(t, b.text), Claims: b.claims}
		wrongSweep := func(f *Case) overlaps { return sweepHolds(NewCase(b.misread(f.Evidence))) }
		wrongPorcupine := func(ctx context.Context, f *Case) map[string]linear.Answer {
			return linearize(ctx, NewCase(b.misread(f.Evidence)))
		}
		if _, err := exclusion(ctx, NewCase(e)); err != nil {
			t.Errorf("%s: without the bug: %v", b.name, err)
		}
		checkCaught(t, e, "a sweep that "+b.name, wrongSweep, linearize)
		checkCaught(t, e, "a porcupine that "+b.name, sweepHolds, wrongPorcupine)
	}
	touching := history.Evidence{Ops: histories.Timeline(t, `
		c0 acquire 1-2 ok
		c0 release 5-6 ok
		c1 acquire 3-5 ok`)}
	checkCaught(t, touching, "a sweep that takes touching for overlap", func(f *Case) overlaps {
		holds := slices.Clone(f.Holds())
		for i := range holds {
			holds[i].To++
		}
		return sweep(holds, 1)
	}, linearize)
	overlapping := history.Evidence{Ops: histories.Timeline(t, `
		c0 acquire 1-2 ok
		c1 acquire 3-4 ok
		c0 release 5-6 ok
		c1 release 7-8 ok`)}
	checkCaught(t, overlapping, "a model that allows everything", sweepHolds,
		func(ctx context.Context, f *Case) map[string]linear.Answer {
			answers := linearize(ctx, f)
			answers["L"] = linear.Legal
			return answers
		})
}

// checkCaught runs judge with two checkers, one of which is wrong, and expects ErrDisagree.
func checkCaught(t *testing.T, e history.Evidence, what string,
	first func(*Case) overlaps,
	second func(context.Context, *Case) map[string]linear.Answer,
) {
	t.Helper()
	verdicts, err := judge(context.Background(), NewCase(e), []Oracle{{Name: "exclusion", judge: func(ctx context.Context, f *Case) (Verdict, error) {
		return exclusionBy(ctx, f, first, second)
	}}})
	if !errors.Is(err, ErrDisagree) {
		t.Errorf("%s: got %v, want %v", what, err, ErrDisagree)
	}
	if len(verdicts) != 1 || verdicts[0].Result != Unknown {
		t.Errorf("%s: got %+v, want unknown", what, verdicts)
	}
}

// The random histories must be diverse enough to reveal each of these bugs.
func TestRandomHistoriesShowEverySeededBug(t *testing.T) {
	for _, b := range bugs {
		caught := false
		for seed := uint64(0); seed < uint64(randomHistories) && !caught; seed++ {
			e := histories.Random(seed)
			wrong := NewCase(b.misread(e))
			_, err := compare(sweepHolds(NewCase(e)).Locks, linearize(context.Background(), wrong))
			caught = err != nil && wrong.Sound() == nil
		}
		if !caught {
			t.Errorf("a porcupine that %s passes on all random histories", b.name)
		}
	}
}
