package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// torn is a world whose history ends when a split has begun. Ending the split returns err.
type torn struct {
	*fakeEnv
	rec *history.Recorder
	err error
}

func (w torn) Split(ctx context.Context, node string, clients []int) (testbed.Undo, error) {
	unite, err := w.fakeEnv.Split(ctx, node, clients)
	return func(ctx context.Context) (int, error) {
		hits, err := unite(ctx)
		return hits, errors.Join(err, w.err)
	}, errors.Join(err, w.rec.End(history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FStall}, w.Now()))
}

func TestASplitThatCannotBeRecordedIsUnitedAndBothErrorsTold(t *testing.T) {
	for name, uerr := range map[string]error{"united": nil, "not united": errLame} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newFakeEnv(t, 2, "n0")
				rec := history.NewRecorder(nil, e.Now)
				p := Plan{{ID: 1, Fault: "split-brain", Idea: "split", Client: 0, Nodes: []string{"n1"}, By: time.Second, For: time.Second}}
				err := Run(t.Context(), p, torn{e, rec, uerr}, rec)
				if !errors.Is(err, history.ErrSealed) || uerr != nil && !errors.Is(err, uerr) || strings.Contains(err.Error(), "nil") {
					t.Errorf("Run = %v, want %v and %v", err, history.ErrSealed, uerr)
				}
				if !e.done("unite n1") {
					t.Error("the world has two primaries still")
				}
			})
		})
	}
}

// lasting is a world that calls before, with the history so far, when a split is about to end.
type lasting struct {
	*fakeEnv
	rec    *history.Recorder
	before func([]history.Op)
}

func (w lasting) Split(ctx context.Context, node string, clients []int) (testbed.Undo, error) {
	unite, err := w.fakeEnv.Split(ctx, node, clients)
	return func(ctx context.Context) (int, error) {
		w.before(w.rec.Ops())
		return unite(ctx)
	}, err
}

// The old primary serves until the last client has moved. Until then both primaries execute
// commands.
func TestASplitLastsUntilAllAreMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEnv(t, 2, "n0")
		rec := history.NewRecorder(nil, e.Now)
		promoted := func(ops []history.Op) bool {
			return slices.ContainsFunc(ops, func(op history.Op) bool { return op.F == history.FPromote })
		}
		w := lasting{e, rec, func(ops []history.Op) {
			if promoted(ops) {
				t.Error("n1 was called the one primary before all clients had been moved to it")
			}
		}}
		p := Plan{{ID: 1, Fault: "split-brain", Idea: "split", Client: 0, Nodes: []string{"n1"}, By: time.Second, For: time.Second}}
		if err := Run(t.Context(), p, w, rec); err != nil || !promoted(rec.Ops()) {
			t.Errorf("Run = %v, promoted: %t, want it promoted", err, promoted(rec.Ops()))
		}
	})
}

// TestASplitOnSentinelsOutlastsLeasesOfBefore checks that a split lasts until earlier leases have
// ended, even if a lease is longer than an election.
func TestASplitOnSentinelsOutlastsLeasesOfBefore(t *testing.T) {
	for ttl, lasts := range map[time.Duration]time.Duration{time.Second: 5 * time.Second, 5 * time.Second: time.Minute} {
		w := watchedWorld()
		w.TTL, w.Duration = ttl, lasts
		plans := splitBrain.Plans(w, rand.New(rand.NewPCG(1, 2)))
		if len(plans) == 0 {
			t.Fatal("no plan fits a trial of default length")
		}
		for k, p := range plans { // the first ends leases of before
			if a := p[0]; a.For < electing || k == 0 && a.For < w.leased() || a.Limit <= a.For {
				t.Errorf("TTL %v: a split for %v, at most %v; want an election (%v) and leases (%v) to be over", ttl, a.For, a.Limit, electing, w.leased())
			}
		}
	}
}
