package campaign

import (
	"context"
	"sync"

	"github.com/lockstorm/lockstorm/testbed"
)

// entrance holds a token for each trial that sets up its world. Running trials
// mostly wait, but starting servers is work: were all to start at once, the
// trials beside them would see a machine that stalls.
type entrance chan struct{}

// entering is a testbed for one trial, which leaves the entrance when its body
// starts.
type entering struct {
	testbed.Testbed
	leave func()
}

// wait returns when a trial may set up its world.
func (e entrance) wait(ctx context.Context, tb testbed.Testbed) (entering, error) {
	select {
	case e <- struct{}{}:
	case <-ctx.Done():
		return entering{}, ctx.Err()
	}
	return entering{Testbed: tb, leave: sync.OnceFunc(func() { <-e })}, nil
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
func (t entering) RealTime() bool { return realTime(t.Testbed) }
