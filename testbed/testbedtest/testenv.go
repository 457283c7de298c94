package testbedtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// hasty is the clients' command timeout in tests in which commands must time out. Tests also
// wait for hasty until a fault has taken effect.
const hasty = 500 * time.Millisecond

// waitTimeout bounds the wait for something that must happen, on a busy machine.
const waitTimeout = 30 * time.Second

var (
	single     = testbed.Setup{Topology: testbed.Single}
	brief      = testbed.Setup{Topology: testbed.Single, CommandTimeout: hasty}
	replicated = testbed.Setup{Topology: testbed.Replicated}
	c0n0       = testbed.Link{From: "c0", To: "n0"}
	n1n0       = testbed.Link{From: "n1", To: "n0"}
)

// suite runs environments of the testbed under test.
type suite struct {
	*testing.T
	open Open
}

// run runs body in an environment of its own. It returns the environment's commands in the order of their
// indices.
func (s suite) run(setup testbed.Setup, body func(*testEnv)) []history.Command {
	s.Helper()
	commands, err := s.try(setup, func(w *testEnv) error { body(w); return nil })
	if err != nil {
		s.Error(err)
	}
	return commands
}

// try is like run, but it returns the error of the body or the testbed. Calls may overlap.
func (s suite) try(setup testbed.Setup, body func(*testEnv) error) (commands []history.Command, err error) {
	s.Helper()
	tb := s.open(s)
	if setup.Clients == 0 {
		setup.Clients = 2
	}
	if setup.CommandTimeout == 0 {
		setup.CommandTimeout = time.Minute // so long that a busy machine causes no timeouts
	}
	setup.Clock = tb.Clock()
	var mu sync.Mutex
	setup.Commands = func(c history.Command) {
		mu.Lock()
		defer mu.Unlock()
		commands = append(commands, c)
	}
	var changes Chain
	setup.Keys = changes.add
	setup.Unseen = func(node string, err error) { s.Errorf("the keys of %s are not seen: %v", node, err) }
	w := &testEnv{TB: s.T}
	err = tb.Run(s.Context(), setup, func(ctx context.Context, e testbed.Env) (err error) {
		w.Env, w.Network, w.inspector, w.ctx = e, e.(testbed.Network), e.(testbed.Inspector), ctx
		w.Clocks, w.Clients = e.(testbed.Clocks), e.(testbed.Clients)
		w.Nodes, _ = e.(testbed.Nodes) // may be nil; in that case no test uses Nodes
		defer func() {
			if p := recover(); p != nil {
				var ok bool
				if err, ok = p.(stop); !ok {
					panic(p)
				}
			}
		}()
		return body(w)
	})
	history.SortCommands(commands)
	w.checkChanges(changes, commands)
	return commands, err
}

// checkChanges checks the changes of keys that the testbed reported.
func (w *testEnv) checkChanges(changes Chain, commands []history.Command) {
	changes.Check(w, commands)
	if got := changes.Lines(); w.told != nil && !slices.Equal(got, w.told) {
		w.Errorf("changes of keys: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(w.told, "\n"))
	} else if w.also != nil {
		w.also(w, changes)
	}
}

// testEnv is a running testbed.Env, with helpers for tests.
type testEnv struct {
	testing.TB
	testbed.Env
	testbed.Network
	testbed.Nodes
	testbed.Clocks
	testbed.Clients
	inspector testbed.Inspector
	ctx       context.Context
	// told is the changes of keys that the testbed must report (Chain.Lines); nil = any. If it reports these, also
	// checks them further, unless it is nil.
	told []string
	also func(w *testEnv, changes Chain)
}

// Keys implements testbed.Inspector.
func (w *testEnv) Keys(ctx context.Context, node string) ([]history.KeyState, error) {
	return w.inspector.Keys(ctx, node)
}

// List implements testbed.Inspector.
func (w *testEnv) List() []string { return w.inspector.List() }

// stop is the value with which must panics to end a body.
type stop struct{ error }

// must ends the body if err is not nil. Call it only in the body's own goroutine. It does
// not use FailNow, which would end a goroutine of the testbed.
func (w *testEnv) must(err error) {
	if err != nil {
		panic(stop{err})
	}
}

// redis returns the go-redis client with which a client process uses the node. node is an index of
// locks.Client.Nodes.
func (w *testEnv) redis(client, node int) *redis.Client {
	return w.Client(client).Locks().Nodes[node].(*redis.Client)
}

func (w *testEnv) step(client int, name string) { w.must(w.Client(client).Step(w.ctx, name)) }

// set sends a SET of a client to its first node.
func (w *testEnv) set(client int, key, value string) error {
	return w.redis(client, 0).Set(w.ctx, key, value, 0).Err()
}

func (w *testEnv) mustSet(client int, key, value string) { w.must(w.set(client, key, value)) }

// mustNotSet sends a SET that must fail. If the SET succeeds, the test fails but the body goes on.
func (w *testEnv) mustNotSet(client int, key, why string) {
	w.Helper()
	if err := w.set(client, key, "1"); err == nil {
		w.Errorf("SET %s %s: got no error", key, why)
	}
}

// background sends a SET of client 0 in a goroutine of its own.
func (w *testEnv) background(key string) <-chan error {
	got := make(chan error, 1)
	go func() { got <- w.set(0, key, "1") }()
	return got
}

// onNode returns a key's value on a node; "" if the key does not exist.
func (w *testEnv) onNode(node, key string) string {
	keys, err := w.Keys(w.ctx, node)
	w.must(err)
	for _, k := range keys {
		if k.Key == key {
			return string(k.Value)
		}
	}
	return ""
}

// check checks a key's value on a node; "" = no key.
func (w *testEnv) check(node, key, want string) {
	w.Helper()
	if got := w.onNode(node, key); got != want {
		w.Errorf("%s on %s: got %q, want %q", key, node, got, want)
	}
}

// await waits until a key has the value want on a node. It then waits a little longer, so that
// the reply to the SET has travelled as far as it can.
func (w *testEnv) await(node, key, want string) {
	got := ""
	for end := w.Now() + waitTimeout; w.Now() < end; time.Sleep(time.Millisecond) {
		if got = w.onNode(node, key); got == want {
			time.Sleep(hasty)
			return
		}
	}
	w.must(fmt.Errorf("%s on %s: got %q to the end, want %q", key, node, got, want))
}

// inSync waits until this number of replicas have all writes of the primary.
func (w *testEnv) inSync(replicas int) {
	c := w.redis(1, 0).Conn()
	defer c.Close()
	w.must(c.Set(w.ctx, "sync", "1", 0).Err())
	n, err := c.Wait(w.ctx, replicas, waitTimeout).Result()
	w.must(err)
	if n < int64(replicas) {
		w.must(errors.New("replicas did not catch up"))
	}
}

// fault is a fault in force, or the error with which its injection failed. Any goroutine may
// inject faults: lift, not the injection, checks the error.
type fault struct {
	*testEnv
	undo testbed.Undo
	err  error
}

func (w *testEnv) cut(l testbed.Link, d testbed.Direction) fault {
	undo, err := w.Cut(w.ctx, l, d)
	return fault{w, undo, err}
}

func (w *testEnv) hold(l testbed.Link, d testbed.Direction) fault {
	undo, err := w.Hold(w.ctx, l, d)
	return fault{w, undo, err}
}

func (w *testEnv) reset(l testbed.Link) fault {
	undo, err := w.Reset(w.ctx, l)
	return fault{w, undo, err}
}

func (w *testEnv) pause(node string) fault {
	undo, err := w.Pause(w.ctx, node)
	return fault{w, undo, err}
}

func (w *testEnv) pauseClient(client int) fault {
	undo, err := w.PauseClient(client)
	return fault{w, undo, err}
}

func (w *testEnv) stopReplication() fault {
	undo, err := w.StopReplication(w.ctx)
	return fault{w, undo, err}
}

// lift calls the undo twice and returns the hits.
func (f fault) lift() int {
	f.Helper()
	f.must(f.err)
	hits, err := f.undo(f.ctx)
	f.must(err)
	if again, err := f.undo(f.ctx); again != hits || err != nil {
		f.Errorf("second undo: got %d hits, %v, want %d as by the first", again, err, hits)
	}
	return hits
}

// liftAfter ends the fault and checks the number of hits.
func (f fault) liftAfter(hits int) {
	f.Helper()
	if got := f.lift(); got != hits {
		f.Errorf("undo: got %d hits, want %d", got, hits)
	}
}

// restart kills a node, checks that the node is down, restarts it, and checks that Restart
// reports the losses of this durability.
func (w *testEnv) restart(node string, d testbed.Durability) {
	w.must(w.Kill(w.ctx, node, nil))
	w.mustNotSet(0, "down", "on a killed node")
	got, err := w.Restart(w.ctx, node)
	w.must(err)
	if got.Durability != d || !got.Scripts || got.Keys != (d == testbed.Volatile) || got.Writes > 0 != (d == testbed.EverySec) {
		w.Errorf("lost: got %+v, want what %s does not keep", got, d)
	}
}

func named(commands []history.Command, name string) []history.Command {
	var some []history.Command
	for _, c := range commands {
		if resp.Name(c.Args) == name {
			some = append(some, c)
		}
	}
	return some
}
