package sim

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// watch runs body in a simulation with this setup, and returns commands and changes. It checks the changes: here
// each happens at one instant, and those of a node in the order of its commands.
func watch(t *testing.T, s testbed.Setup, body func(context.Context, *simulation) error) ([]history.Command, testbedtest.Chain) {
	t.Helper()
	var changes testbedtest.Chain
	s.Keys = func(c history.KeyChange) { changes = append(changes, c) }
	commands := in(t, s, body)
	changes.Check(t, commands)
	last := map[string]history.KeyChange{}
	for _, c := range changes {
		if before := last[c.Node]; c.From != c.To || c.From < before.From || c.Exec < before.Exec {
			t.Errorf("%+v comes after %+v", c, before)
		}
		last[c.Node] = c
	}
	return commands, changes
}

// each calls the steps in order until one fails, and returns the error.
func each(steps ...func() error) error {
	for _, do := range steps {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func (w *simulation) restart(ctx context.Context, node string, down time.Duration) func() error {
	return func() error {
		if err := w.Kill(ctx, node, nil); err != nil {
			return err
		}
		time.Sleep(down)
		_, err := w.Restart(ctx, node)
		return err
	}
}

func wait(d time.Duration) func() error {
	return func() error { time.Sleep(d); return nil }
}

// The reported changes of an eventful trial must add up to the nodes' keys. Two runs of the trial
// must report the same.
func TestKeyChangesMakeUpWhatTheNodesHave(t *testing.T) {
	for _, topology := range []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent} {
		var first []byte
		for range 2 {
			var states []history.KeyState
			var primary string
			_, changes := watch(t, testbed.Setup{Seed: 3, Topology: topology, Durability: testbed.EverySec}, func(ctx context.Context, w *simulation) error {
				if err := stir(ctx, w); err != nil {
					return err
				}
				var err error
				primary = w.List()[0]
				states, err = w.Keys(ctx, primary)
				return err
			})
			have := map[string]*history.KeyContent{}
			for _, c := range changes {
				if c.Node != primary {
					continue
				}
				if have[string(c.Key)] = c.After; c.After == nil {
					delete(have, string(c.Key))
				}
			}
			for _, s := range states {
				if k := have[s.Key]; k == nil || k.Type != s.Type || k.Type == "string" && k.Value != s.Value || (k.Expires > 0) != (s.TTL >= 0) {
					t.Errorf("%s: %+v was told as %+v", topology, s, k)
				}
			}
			if len(have) != len(states) || len(have) == 0 {
				t.Errorf("%s: %d keys are left, told were %d", topology, len(states), len(have))
			}
			var log []byte
			for i := range changes {
				log = append(changes[i].AppendJSON(log), '\n')
			}
			if first == nil {
				first = log
			} else if string(first) != string(log) {
				t.Errorf("%s: another log, the second time:\n%s\n%s", topology, first, log)
			}
		}
	}
}

// stir makes clients write concurrently while the first node's clock is set, and the node is
// restarted, paused and put under memory pressure. At the end, stir promotes another node if there
// are replicas.
func stir(ctx context.Context, w *simulation) error {
	writers := make(chan error, 2)
	for client := range 2 {
		go func() {
			var err error
			for i := 0; i < 200 && err == nil; i++ {
				time.Sleep(time.Duration(7+client) * time.Millisecond)
				k := fmt.Sprint("k", i%5)
				w.redis(client).Set(ctx, k, client, time.Duration(i%4)*50*time.Millisecond) // may fail
				w.redis(client).HSet(ctx, "h"+k, fmt.Sprint("f", client), i)
				w.redis(client).Eval(ctx, `return redis.call("RENAME", KEYS[1], KEYS[2])`, []string{k, "r" + k})
				err = ctx.Err()
			}
			writers <- err
		}()
	}
	faults := each(wait(300*time.Millisecond),
		func() error { _, err := w.SkewNode(ctx, "n0", time.Second, nil); return err }, wait(100*time.Millisecond),
		w.restart(ctx, "n0", 100*time.Millisecond), wait(300*time.Millisecond),
		func() error {
			undo, err := w.Pause(ctx, "n0")
			if err == nil {
				time.Sleep(100 * time.Millisecond)
				_, err = undo(ctx)
			}
			return err
		},
		func() error { _, err := w.Evict(ctx, "n0", nil); return err },
		func() error {
			if w.primary == nil {
				return nil
			}
			return w.Promote(ctx, "n1")
		})
	for range 2 {
		if err := <-writers; faults == nil {
			faults = err
		}
	}
	return faults
}

// Watching keys must not influence a trial.
func TestUnwatchedTrialsAreTheSame(t *testing.T) {
	for _, topology := range []testbed.Topology{testbed.Single, testbed.Replicated} {
		setup := testbed.Setup{Seed: 5, Topology: topology, Durability: testbed.EverySec}
		watched, _ := watch(t, setup, stir)
		unwatched := in(t, setup, stir)
		if got, want := history.Hash(history.Evidence{Commands: unwatched}), history.Hash(history.Evidence{Commands: watched}); got != want {
			t.Errorf("%s: other commands than with a watched node", topology)
		}
	}
}
