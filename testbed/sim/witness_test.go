package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// watch runs body in a simulation with this setup. It checks that the changes of each key on each
// node form a chain, and returns commands and changes.
func watch(t *testing.T, s testbed.Setup, body func(context.Context, *simulation) error) ([]history.Command, []history.KeyChange) {
	t.Helper()
	var changes []history.KeyChange
	s.Keys = func(c history.KeyChange) { changes = append(changes, c) }
	commands := in(t, s, body)
	chained(t, commands, changes)
	return commands, changes
}

type nodeKey struct {
	node string
	key  history.Bytes
}

// chained checks the invariants of a log of changes, and returns the keys' contents at the end
// of the log.
func chained(t *testing.T, commands []history.Command, changes []history.KeyChange) map[nodeKey]*history.KeyContent {
	t.Helper()
	have := map[nodeKey]*history.KeyContent{}
	last := map[string]history.KeyChange{}
	for i, c := range changes {
		at, before := nodeKey{c.Node, c.Key}, last[c.Node]
		switch {
		case c.Index != i:
			t.Errorf("change %d has index %d", i, c.Index)
		case !have[at].Same(c.Before):
			t.Errorf("%+v found %+v, and was left as %+v", at, c.Before, have[at])
		case c.Before.Same(c.After):
			t.Errorf("nothing changed: %+v", c)
		case c.From != c.To || c.From < before.From || c.Exec < before.Exec:
			t.Errorf("%+v comes after %+v", c, before)
		}
		if c.By == history.ByCommand && !slices.ContainsFunc(commands, func(cmd history.Command) bool {
			return cmd.Node == c.Node && cmd.Exec == c.Exec && cmd.Arrived == c.From
		}) {
			t.Errorf("no command made %+v", c)
		}
		have[at], last[c.Node] = c.After, c
	}
	return have
}

// toldOf formats each change as "node cause key". It joins consecutive changes on one node that
// have one cause: "node cause key key".
func toldOf(changes []history.KeyChange) string {
	var told []string
	last := ""
	for _, c := range changes {
		if head := fmt.Sprintf("%s %s", c.Node, c.By); head != last {
			told, last = append(told, head), head
		}
		told[len(told)-1] += " " + string(c.Key)
	}
	return strings.Join(told, ", ")
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

// send returns a step that sends a client's commands. Each command is given as words separated
// by spaces. A nil reply is no error.
func (w *simulation) send(ctx context.Context, client int, commands ...string) func() error {
	return func() error {
		for _, c := range commands {
			var args []any
			for _, word := range strings.Fields(c) {
				args = append(args, word)
			}
			err := w.redis(client).Do(ctx, args...).Err()
			for broken := 0; err != nil && err != redis.Nil && broken < 3; broken++ { // a promotion breaks connections
				err = w.redis(client).Do(ctx, args...).Err()
			}
			if err != nil && err != redis.Nil {
				return fmt.Errorf("%s: %w", c, err)
			}
		}
		return nil
	}
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

var replicated = testbed.Setup{Topology: testbed.Replicated}

// whatMakesChanges holds trials by name, with the changes that must be reported in each.
var whatMakesChanges = map[string]struct {
	setup testbed.Setup
	body  func(ctx context.Context, w *simulation) error
	want  string
}{
	"commands, and expiry before one": {testbed.Setup{}, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "SET k v PX 10 NX", "SET k w NX", "GET k"), wait(11*time.Millisecond), w.send(ctx, 1, "SET k w PX 1000 NX", "DEL k"))
	}, "n0 command k, n0 expiry k, n0 command k k"},
	"active expiry": {testbed.Setup{}, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "MSET b 1 a 1", "PEXPIRE a 10", "PEXPIRE b 10"), wait(time.Second))
	}, "n0 command a b a b, n0 expiry a b"},
	"expiry that a WAIT meets": {replicated, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "SET k v PX 10"), wait(11*time.Millisecond), w.send(ctx, 0, "WAIT 0 0"))
	}, "n0 command k, n0 expiry k"},
	"a transaction": {testbed.Setup{}, func(ctx context.Context, w *simulation) error {
		_, err := w.redis(0).TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "b", 1, 0)
			p.Set(ctx, "a", 1, 0)
			return nil
		})
		return err
	}, "n0 command a b"},
	"eviction": {testbed.Setup{}, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "MSET b 1 a 1"), func() error {
			_, err := w.Evict(ctx, "n0", nil)
			return err
		})
	}, "n0 command a b, n0 eviction a b"},
	"volatile restart": {testbed.Setup{}, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "MSET b 1 a 1", "PEXPIRE b 10"), w.restart(ctx, "n0", time.Second), w.send(ctx, 0, "SET a 1"))
	}, "n0 command a b b, n0 restart a b, n0 command a"},
	"restart that loses the last second": {testbed.Setup{Durability: testbed.EverySec}, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "SET a 1"), wait(2*time.Second), w.send(ctx, 0, "SET b 1", "SET a 2"), w.restart(ctx, "n0", time.Second))
	}, "n0 command a b a, n0 restart a b"},
	"restart that loses nothing": {testbed.Setup{Durability: testbed.Always}, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "MSET a 1 b 1", "PEXPIRE b 500"), w.restart(ctx, "n0", time.Second))
	}, "n0 command a b b, n0 expiry b"},
	"replicas": {replicated, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "SET a 1"), wait(time.Second), w.restart(ctx, "n1", time.Second), wait(time.Second))
	}, "n0 command a"},
	"promotion": {replicated, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "MSET b 1 a 1", "SET gone 1 PX 100"), wait(time.Second),
			func() error { return w.Promote(ctx, "n1") }, w.send(ctx, 0, "SET a 2"))
	}, "n0 command a b gone, n0 expiry gone, n1 promotion a b, n1 command a"},
	"active expiry on a promoted replica": {replicated, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "SET a 1 PX 2000"), wait(time.Second), func() error { return w.Promote(ctx, "n1") }, wait(2*time.Second))
	}, "n0 command a, n1 promotion a, n1 expiry a, n0 expiry a"},
	"an old primary that comes back as a replica": {replicated, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "MSET b 1 a 1"), wait(time.Second), func() error { return w.Kill(ctx, "n0", nil) },
			func() error { return w.Promote(ctx, "n1") }, w.send(ctx, 0, "SET a 2"),
			func() error { _, err := w.Restart(ctx, "n0"); return err }, wait(time.Second),
			func() error { return w.Promote(ctx, "n0") })
	}, "n0 command a b, n1 promotion a b, n1 command a, n0 promotion a"},
	"two primaries": {replicated, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "SET a 1"), wait(time.Second), func() error {
			undo, err := w.Split(ctx, "n1", []int{1})
			if err != nil {
				return err
			}
			if err := each(w.send(ctx, 0, "SET a 2"), w.send(ctx, 1, "SET a 3")); err != nil {
				return err
			}
			_, err = undo(ctx)
			return err
		}, wait(time.Second), w.send(ctx, 0, "SET a 4"))
	}, "n0 command a, n1 promotion a, n0 command a, n1 command a a"},
	"the clock forward and back": {testbed.Setup{}, func(ctx context.Context, w *simulation) error {
		skew := func(d time.Duration) func() error {
			return func() error { _, err := w.SkewNode(ctx, "n0", d, nil); return err }
		}
		return each(w.send(ctx, 0, "MSET b 1 a 1", "PEXPIRE a 5000"), skew(-time.Hour), skew(0), skew(time.Hour), w.send(ctx, 0, "PING"))
	}, "n0 command a b a, n0 clock a a a, n0 expiry a"},
	"a clock that is set while the node is down": {testbed.Setup{Durability: testbed.Always}, func(ctx context.Context, w *simulation) error {
		return each(w.send(ctx, 0, "SET a 1 PX 5000"), func() error { return w.Kill(ctx, "n0", nil) },
			func() error { _, err := w.SkewNode(ctx, "n0", -time.Hour, nil); return err },
			func() error { _, err := w.Restart(ctx, "n0"); return err })
	}, "n0 command a, n0 restart a"},
}

func TestKeyChangesNameWhatMadeThem(t *testing.T) {
	for name, c := range whatMakesChanges {
		t.Run(name, func(t *testing.T) {
			c.setup.Seed = 1
			_, changes := watch(t, c.setup, c.body)
			if got := toldOf(changes); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The reported changes of an eventful trial must add up to the nodes' keys. Two runs of the trial
// must report the same.
func TestKeyChangesMakeUpWhatTheNodesHave(t *testing.T) {
	for _, topology := range []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent} {
		var first []byte
		for range 2 {
			var states []history.KeyState
			var primary string
			commands, changes := watch(t, testbed.Setup{Seed: 3, Topology: topology, Durability: testbed.EverySec}, func(ctx context.Context, w *simulation) error {
				if err := stir(ctx, w); err != nil {
					return err
				}
				var err error
				primary = w.List()[0]
				states, err = w.Keys(ctx, primary)
				return err
			})
			left := 0
			have := chained(t, commands, changes)
			for at, k := range have {
				if at.node == primary && k != nil {
					left++
				}
			}
			for _, s := range states {
				if k := have[nodeKey{primary, history.Bytes(s.Key)}]; k == nil || k.Type != s.Type || k.Type == "string" && k.Value != s.Value || (k.Expires > 0) != (s.TTL >= 0) {
					t.Errorf("%s: %+v was told as %+v", topology, s, k)
				}
			}
			if left != len(states) || left == 0 {
				t.Errorf("%s: %d keys are left, told were %d", topology, len(states), left)
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
