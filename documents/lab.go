package documents

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// lab is where an experiment runs.
type lab struct {
	tb   testbed.Testbed
	seed uint64
}

// real says whether the lab's time is the machine's.
func (l lab) real() bool { return trial.RealTime(l.tb) }

// lockName is the name of the lock in every experiment.
const lockName = "lock-0"

// wire is what was seen of the nodes in one world, in order.
type wire struct {
	commands []history.Command
	keys     []history.KeyChange // of testbeds on virtual time only
}

// world runs body in a new world on the lab's testbed. The seed of the world is s.Seed.
func (l lab) world(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) (w wire, err error) {
	s.Clock = l.tb.Clock()
	s.Commands = func(c history.Command) { w.commands = append(w.commands, c) }
	if !l.real() {
		s.Keys = func(k history.KeyChange) { w.keys = append(w.keys, k) }
	}
	err = l.tb.Run(ctx, s, body)
	history.SortCommands(w.commands)
	return w, err
}

// handle returns a client's handle on the lock of a recipe.
func handle(r locks.Recipe, c testbed.Client, ttl time.Duration) (locks.Lock, error) {
	maker, err := r.New(c.Locks())
	if err != nil {
		return nil, err
	}
	return maker(lockName, ttl)
}

// recipe returns the registered recipe with this id, or an error if there is none.
func recipe(id string) (locks.Recipe, error) {
	r, ok := locks.ByID(id)
	if !ok {
		return locks.Recipe{}, fmt.Errorf("no recipe %q is registered", id)
	}
	return r, nil
}

// side runs all functions at once; the first error ends the others' context.
func side(ctx context.Context, do ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range do {
		group.Go(func() error { return f(ctx) })
	}
	return group.Wait()
}

// quantile returns the value below which the share q of all values lies, 0 if there are none.
func quantile[T int64 | time.Duration](values []T, q float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
