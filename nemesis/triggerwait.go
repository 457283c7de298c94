package nemesis

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/internal/sleep"
	"github.com/lockstorm/lockstorm/testbed"
)

// triggerWait waits for a trigger. The first client that reaches it is held until do has
// returned; later clients pass.
type triggerWait struct {
	hit     chan testbed.Hit // gets the first hit once do has returned
	cancels []func()
}

// await waits at the points of t for the clients that match t.Who relative to
// struck. If several wait at one point, the one with the greatest turn comes first,
// regardless of the order in which they were set.
func await(env testbed.Env, t Trigger, struck, turn int, do func(testbed.Hit)) *triggerWait {
	w := &triggerWait{hit: make(chan testbed.Hit, 1)}
	var taken atomic.Bool // not sync.Once, which would hold later clients too
	for _, c := range t.Clients {
		if t.Who == Other && c == struck || t.Who == Same && c != struck {
			continue
		}
		p := t.point(c)
		p.Turn = turn
		w.cancels = append(w.cancels, env.At(p, func(h testbed.Hit) {
			if taken.CompareAndSwap(false, true) {
				do(h)
				w.hit <- h
			}
		}))
	}
	return w
}

// stop cancels the wait. After stop has returned, do is not running and will not run.
func (w *triggerWait) stop() {
	for _, cancel := range w.cancels {
		cancel()
	}
	w.cancels = nil
}

// last returns the hit that a stopped wait may have got at the last moment.
func (w *triggerWait) last() (testbed.Hit, bool) {
	select {
	case h := <-w.hit:
		return h, true
	default:
		return testbed.Hit{}, false
	}
}

// sleepUntil waits for an instant of the history's clock.
func sleepUntil(ctx context.Context, env testbed.Env, at time.Duration) error {
	return sleep.For(ctx, at-env.Now())
}
