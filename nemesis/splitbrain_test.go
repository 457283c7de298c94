package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// split is a plan that moves one client to n1 for a second.
var split = Plan{{ID: 1, Fault: "split-brain", Idea: "split", Client: 0, Nodes: []string{"n1"}, By: time.Second, For: time.Second}}

func TestASplitThatCannotBeRecordedIsUnitedAndBothErrorsTold(t *testing.T) {
	for name, uerr := range map[string]error{"united": nil, "not united": errLame} {
		t.Run(name, func(t *testing.T) {
			var world *fakeEnv
			_, err := play(t, split, nil, func(_ context.Context, e *fakeEnv) {
				world = e
				e.meddle = meddling{"split n1": e.seal, "unite n1": func(context.Context) error { return uerr }}
			})
			if !errors.Is(err, history.ErrSealed) || uerr != nil && !errors.Is(err, uerr) || strings.Contains(err.Error(), "nil") {
				t.Errorf("Run = %v, want %v and %v", err, history.ErrSealed, uerr)
			}
			if !world.done("unite n1") {
				t.Error("the world has two primaries still")
			}
		})
	}
}

// The old primary serves until the last client has moved. Until then both primaries execute
// commands.
func TestASplitLastsUntilAllAreMoved(t *testing.T) {
	promoted := func(ops []history.Op) bool {
		return slices.ContainsFunc(ops, func(op history.Op) bool { return op.F == history.FPromote })
	}
	ops, err := play(t, split, nil, func(_ context.Context, e *fakeEnv) {
		e.meddle = meddling{"unite n1": func(context.Context) error {
			if promoted(e.rec.Ops()) {
				t.Error("n1 was called the one primary before all clients had been moved to it")
			}
			return nil
		}}
	})
	if err != nil || !promoted(ops) {
		t.Errorf("Run = %v, promoted: %t, want it promoted", err, promoted(ops))
	}
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
