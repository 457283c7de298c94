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

// lab is the place where an experiment runs: a testbed and a seed.
type lab struct {
	tb   testbed.Testbed
	seed uint64
}

func (l lab) real() bool { return trial.RealTime(l.tb) }

// lockName is the name of the lock in every experiment.
const lockName = "lock-0"

// wire records what happened at the nodes of one world, in order: commands and key changes.
type wire struct {
	commands []history.Command
	keys     []history.KeyChange // only of testbeds on virtual time
}

// world runs body in a new world (a testbed.Env) of the lab's testbed. The seed of the world is s.Seed,
// not the lab's seed.
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

func handle(r locks.Recipe, c testbed.Client, ttl time.Duration) (locks.Lock, error) {
	maker, err := r.New(c.Locks())
	if err != nil {
		return nil, err
	}
	return maker(lockName, ttl)
}

func recipe(id string) (locks.Recipe, error) {
	r, ok := locks.ByID(id)
	if !ok {
		return locks.Recipe{}, fmt.Errorf("no recipe %q is registered", id)
	}
	return r, nil
}

// side runs all functions concurrently. The first error ends the context of the other functions.
func side(ctx context.Context, do ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range do {
		group.Go(func() error { return f(ctx) })
	}
	return group.Wait()
}

// quantile returns the q-quantile of the values; 0 if there are none.
func quantile[T int64 | time.Duration](values []T, q float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
