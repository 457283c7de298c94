package sim

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/testbed"
)

// The watch examines a trial in this process every lookEvery of real time. A trial stands still if the
// same goroutines kept its clock from advancing at stillLooks examinations in a row. A trial is busy if
// its code was running at busyLooks examinations in a row. In both cases, the trial sent no command
// between these examinations.
const (
	lookEvery  = 3 * time.Second
	stillLooks = 2
	busyLooks  = 20
)

// watched runs a trial. If the trial stands still or is busy, watched returns early, with an
// error. The trial's goroutines then stay behind, because nothing can end them.
func (b Guest) watched(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	w := stallWatch{limit: busyLooks}
	next := s.Commands
	s.Commands = func(c history.Command) {
		w.commands.Add(1)
		next(c)
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		over <- b.Testbed.Run(ctx, s, func(ctx context.Context, env testbed.Env) error {
			w.bubble.Store(crash.Bubble())
			return body(ctx, env)
		})
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-tick.C:
		}
		bubble, _ := w.bubble.Load().(string)
		if bubble == "" {
			continue
		}
		if err := w.look(crash.Goroutines(), bubble); err != nil {
			return err
		}
	}
}

// detached returns a context that ends soon after ctx. A goroutine outside the trial's bubble ends the
// returned context, even if code under test inside the bubble ends ctx.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	left := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			cancel(context.Cause(ctx))
		case <-left:
		}
	}()
	return own, func() { close(left); cancel(nil) }
}

// stallWatch judges whether a trial makes progress.
type stallWatch struct {
	bubble   atomic.Value // string
	commands atomic.Int64 // number of commands that the trial has sent
	limit    int          // number of looks in a row after which a trial is busy (busyLooks)

	before      int64    // commands at the last look
	still, busy int      // number of looks in a row with this finding
	stuck       []string // IDs of the goroutines that kept the clock from advancing at the last look
}

// look judges a dump of this process's goroutines. It returns an error if the trial in the bubble
// made no progress during the last looks.
func (w *stallWatch) look(dump, bubble string) error {
	all := crash.ParseGoroutines(dump, bubble)
	active := slices.ContainsFunc(all, crash.Goroutine.Active)
	var stuck []string
	for _, g := range all {
		if !g.Durable() {
			stuck = append(stuck, g.ID)
		}
	}
	sent := w.commands.Load()
	same := sent == w.before && len(stuck) > 0
	w.before = sent
	switch {
	case !same:
		w.still, w.busy, w.stuck = 0, 0, nil
		return nil
	case active:
		w.still, w.stuck = 0, nil
		w.busy++
	case !slices.Equal(stuck, w.stuck):
		w.still, w.busy, w.stuck = 1, 0, stuck
	default:
		w.still++
	}
	switch {
	case w.still >= stillLooks:
		return errors.New(crash.Stands(dump, bubble))
	case w.busy >= w.limit:
		return errors.New(crash.Busy(dump, bubble))
	}
	return nil
}
