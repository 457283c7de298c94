package testbedtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// hasty is the clients' patience where something is meant to time out.
const hasty = 500 * time.Millisecond

// patience is how long something that must come is awaited, on a busy machine.
const patience = 30 * time.Second

var (
	single     = testbed.Setup{Topology: testbed.Single}
	brief      = testbed.Setup{Topology: testbed.Single, CommandTimeout: hasty}
	replicated = testbed.Setup{Topology: testbed.Replicated}
	c0n0       = testbed.Link{From: "c0", To: "n0"}
	n1n0       = testbed.Link{From: "n1", To: "n0"}
)

// suite runs worlds of the testbed under test.
type suite struct {
	*testing.T
	open Open
}

// run runs body in a world of its own, and checks that nothing is left of it. It
// returns the commands that it took, in their order.
func (s suite) run(setup testbed.Setup, body func(*world)) []history.Command {
	s.Helper()
	defer goleak.VerifyNone(s, goleak.IgnoreCurrent())
	commands, err := s.try(setup, func(w *world) error { body(w); return nil })
	if err != nil {
		s.Error(err)
	}
	return commands
}

// try returns the body's or the testbed's error. Several may run at once.
func (s suite) try(setup testbed.Setup, body func(*world) error) (commands []history.Command, err error) {
	s.Helper()
	tb := s.open(s)
	if setup.Clients == 0 {
		setup.Clients = 2
	}
	if setup.CommandTimeout == 0 {
		setup.CommandTimeout = time.Minute // nothing times out because the machine is busy
	}
	setup.Clock = tb.Clock()
	var mu sync.Mutex
	setup.Commands = func(c history.Command) {
		mu.Lock()
		defer mu.Unlock()
		commands = append(commands, c)
	}
	var changes chain
	if w, ok := tb.(interface{ WatchesKeys() bool }); ok && w.WatchesKeys() {
		setup.Keys = changes.add
		setup.Unseen = func(node string, err error) { s.Errorf("the keys of %s are not seen: %v", node, err) }
		defer func() { changes.check(s) }()
	}
	err = tb.Run(s.Context(), setup, func(ctx context.Context, e testbed.Env) (err error) {
		w := &world{
			TB: s.T, Env: e, Network: e.(testbed.Network), inspector: e.(testbed.Inspector),
			Clocks: e.(testbed.Clocks), Clients: e.(testbed.Clients), ctx: ctx,
		}
		w.Nodes, _ = e.(testbed.Nodes) // else no promise that needs them is tested
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
	return commands, err
}

// world is one running world, as tests see it.
type world struct {
	testing.TB
	testbed.Env
	testbed.Network
	testbed.Nodes
	testbed.Clocks
	testbed.Clients
	inspector testbed.Inspector
	ctx       context.Context
}

// Keys are what a node holds.
func (w *world) Keys(ctx context.Context, node string) ([]history.KeyState, error) {
	return w.inspector.Keys(ctx, node)
}

// List names the nodes that clients use.
func (w *world) List() []string { return w.inspector.List() }

// stop ends a body.
type stop struct{ error }

// must ends the body on an error. For the body's own goroutine only. It does so
// without FailNow, which must not end a goroutine of a testbed's.
func (w *world) must(err error) {
	if err != nil {
		panic(stop{err})
	}
}

// redis is a client's connection pool to its i-th node.
func (w *world) redis(client, node int) *redis.Client {
	return w.Client(client).Locks().Nodes[node].(*redis.Client)
}

func (w *world) step(client int, name string) { w.must(w.Client(client).Step(w.ctx, name)) }

// set is one SET of a client on its first node.
func (w *world) set(client int, key, value string) error {
	return w.redis(client, 0).Set(w.ctx, key, value, 0).Err()
}

func (w *world) mustSet(client int, key, value string) { w.must(w.set(client, key, value)) }

// mustNotSet is a SET that must fail.
func (w *world) mustNotSet(client int, key, why string) {
	w.Helper()
	if err := w.set(client, key, "1"); err == nil {
		w.Errorf("SET %s %s: got no error", key, why)
	}
}

// background is a SET of the first client in a goroutine of its own.
func (w *world) background(key string) <-chan error {
	got := make(chan error, 1)
	go func() { got <- w.set(0, key, "1") }()
	return got
}

// onNode is a key's value as the node itself has it; "" if it has none.
func (w *world) onNode(node, key string) string {
	keys, err := w.Keys(w.ctx, node)
	w.must(err)
	for _, k := range keys {
		if k.Key == key {
			return string(k.Value)
		}
	}
	return ""
}

// check checks a key's value on a node.
func (w *world) check(node, key, want string) {
	w.Helper()
	if got := w.onNode(node, key); got != want {
		w.Errorf("%s on %s: got %q, want %q", key, node, got, want)
	}
}

// await waits until a key has that value on a node, and a little longer: the
// reply to whoever set it has come as far as it can.
func (w *world) await(node, key, want string) {
	got := ""
	for end := w.Now() + patience; w.Now() < end; time.Sleep(time.Millisecond) {
		if got = w.onNode(node, key); got == want {
			time.Sleep(hasty)
			return
		}
	}
	w.must(fmt.Errorf("%s on %s: got %q to the end, want %q", key, node, got, want))
}

// inSync waits until that many replicas have all that the primary executed.
func (w *world) inSync(replicas int) {
	c := w.redis(1, 0).Conn()
	defer c.Close()
	w.must(c.Set(w.ctx, "sync", "1", 0).Err())
	n, err := c.Wait(w.ctx, replicas, patience).Result()
	w.must(err)
	if n < int64(replicas) {
		w.must(errors.New("replicas did not catch up"))
	}
}

// fault is one in force. It may be set in any goroutine.
type fault struct {
	*world
	undo testbed.Undo
	err  error
}

func (w *world) cut(l testbed.Link, d testbed.Direction) fault {
	undo, err := w.Cut(w.ctx, l, d)
	return fault{w, undo, err}
}

func (w *world) hold(l testbed.Link, d testbed.Direction) fault {
	undo, err := w.Hold(w.ctx, l, d)
	return fault{w, undo, err}
}

func (w *world) reset(l testbed.Link) fault {
	undo, err := w.Reset(w.ctx, l)
	return fault{w, undo, err}
}

func (w *world) pause(node string) fault {
	undo, err := w.Pause(w.ctx, node)
	return fault{w, undo, err}
}

func (w *world) pauseClient(client int) fault {
	undo, err := w.PauseClient(client)
	return fault{w, undo, err}
}

func (w *world) stopReplication() fault {
	undo, err := w.StopReplication(w.ctx)
	return fault{w, undo, err}
}

// lift takes the fault back, twice, and tells how much it hit.
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

// liftAfter takes the fault back and checks how much it hit.
func (f fault) liftAfter(hits int) {
	f.Helper()
	if got := f.lift(); got != hits {
		f.Errorf("undo: got %d hits, want %d", got, hits)
	}
}

// restart kills a node, sees that it is down, and brings it back without what that
// durability does not keep.
func (w *world) restart(node string, d testbed.Durability) {
	w.must(w.Kill(w.ctx, node, nil))
	w.mustNotSet(0, "down", "on a killed node")
	got, err := w.Restart(w.ctx, node)
	w.must(err)
	if got.Durability != d || !got.Scripts || got.Keys != (d == testbed.Volatile) || got.Writes > 0 != (d == testbed.EverySec) {
		w.Errorf("lost: got %+v, want what %s does not keep", got, d)
	}
}

// named returns the commands of that name.
func named(commands []history.Command, name string) []history.Command {
	var some []history.Command
	for _, c := range commands {
		if resp.Name(c.Args) == name {
			some = append(some, c)
		}
	}
	return some
}
