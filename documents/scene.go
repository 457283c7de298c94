package documents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// play plays a scene on a read-write lock. Scene lists its steps, separated by commas:
//   - "read 0" or "write 2": client 0 tries to read, or client 2 to write; the outcome is "in" or "kept out"
//   - "read! 0" or "write! 2": it tries until it succeeds; the outcome is how long that takes
//   - "leave 0": client 0 gives up the lease, or the failed attempt, of its last step
//   - "apart": two milliseconds pass, so that timestamps differ
//   - "align": a millisecond begins. In the simulation, two attempts fit in it.
//
// u.scene is the outcome of the last step that has one.
func (u *usage) play(ctx context.Context, env testbed.Env) error {
	var handles [3]locks.RWLocker
	for i := range handles {
		l, err := u.handle(env, i)
		if err != nil {
			return err
		}
		rw, ok := l.(locks.RWLocker)
		if !ok {
			return errors.New(u.Lock + " is no read-write lock")
		}
		handles[i] = rw
	}
	var leave [3]func() error
	for step := range strings.SplitSeq(u.Scene, ", ") {
		var do string
		var client int
		_, _ = fmt.Sscan(step, &do, &client) // "apart" and "align" have no client
		lock := handles[client].Read()
		if strings.HasPrefix(do, "write") {
			lock = handles[client].Write()
		}
		var lease locks.Lease
		var err error
		start := time.Now()
		switch do {
		case "read", "write":
			u.scene = "in"
			if lease, err = lock.TryLock(ctx); errors.Is(err, locks.ErrBusy) {
				u.scene, err = "kept out", nil
			}
			leave[client] = func() error { return lock.Unlock(ctx, lease) }
		case "read!", "write!":
			_, err = locks.Wait(ctx, lock, 10*time.Millisecond)
			u.scene = milli(time.Since(start))
		case "leave":
			if err = leave[client](); errors.Is(err, locks.ErrNotHeld) {
				err = nil
			}
		case "apart":
			err = testbed.Sleep(ctx, 2*time.Millisecond)
		case "align":
			err = testbed.Sleep(ctx, start.Truncate(time.Millisecond).Add(time.Millisecond+time.Microsecond).Sub(start))
		default:
			err = fmt.Errorf("no step is called %q", step)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
