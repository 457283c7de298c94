package worker

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// admission limits how many trials run at a time. Running trials mostly wait, but their
// commands cost processor time, and starting their servers costs even more: with too many
// nodes, or all trials starting at once, the machine would stall every trial.
type admission struct {
	setup chan struct{}       // one element for each trial that is setting up its world
	room  *semaphore.Weighted // each running trial takes its weight
	limit int64
}

// newAdmission returns an admission with room for the given number of trials with one node each.
func newAdmission(parallel int) *admission {
	return &admission{
		setup: make(chan struct{}, runtime.NumCPU()),
		room:  semaphore.NewWeighted(int64(parallel)),
		limit: int64(parallel),
	}
}

// weight returns a trial's weight: 1 for a trial with one node.
func (e *admission) weight(s trial.Spec) int64 {
	w := int64(1)
	switch s.Topology {
	case testbed.Replicated:
		w = 2
	case testbed.Sentinel, testbed.Cluster:
		w = 3
	case testbed.Independent:
		w = int64(s.Voters()+1) / 2
	}
	return min(w, e.limit)
}

// entering is the testbed of one admitted trial; it calls leave when the trial's body
// starts.
type entering struct {
	testbed.Testbed
	leave func()
	exit  func() // releases the trial's weight
}

// wait returns when a trial may set up its world. The caller must call leave and exit in
// the end.
func (e *admission) wait(ctx context.Context, tb testbed.Testbed, s trial.Spec) (entering, error) {
	w := int64(1)
	if trial.RealTime(tb) {
		w = e.weight(s)
	}
	if err := e.room.Acquire(ctx, w); err != nil {
		return entering{}, err
	}
	select {
	case e.setup <- struct{}{}:
	case <-ctx.Done():
		e.room.Release(w)
		return entering{}, ctx.Err()
	}
	return entering{
		Testbed: tb,
		leave:   sync.OnceFunc(func() { <-e.setup }),
		exit:    func() { e.room.Release(w) },
	}, nil
}

// Run implements testbed.Testbed.
func (t entering) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	defer t.leave()
	return t.Testbed.Run(ctx, s, func(ctx context.Context, env testbed.Env) error {
		t.leave()
		return body(ctx, env)
	})
}

// RealTime implements realTimer.
func (t entering) RealTime() bool { return trial.RealTime(t.Testbed) }

// WatchesKeys implements keyWatcher.
func (t entering) WatchesKeys() bool { return trial.WatchesKeys(t.Testbed) }
