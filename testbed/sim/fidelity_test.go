package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/process"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// scenario is the body of a trial that notes how nodes behave. The notes must be the same on
// real Redis and in the simulation.
type scenario struct {
	name  string
	setup testbed.Setup
	body  func(*stage)
	// want lists the expected notes, one line each.
	want []string
}

// TestNodesFailAsRedisDoes runs each scenario on real redis-servers and in the simulation.
// Without redis-server it fails, because it would compare nothing.
func TestNodesFailAsRedisDoes(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			real, err := process.New(process.Options{Temp: redistest.Memory(t)})
			if err != nil {
				t.Fatal("nothing to compare the simulation with: ", err)
			}
			for _, tb := range []testbed.Testbed{sim.New(), real} {
				got, err := play(t.Context(), tb, s)
				if err != nil {
					t.Errorf("%s: %v", tb.Name(), err)
				}
				if !slices.Equal(got, s.want) {
					t.Errorf("on testbed %s\ngot  %s\nwant %s", tb.Name(), strings.Join(got, "\n     "), strings.Join(s.want, "\n     "))
				}
			}
		})
	}
}

func scenarios() []scenario { return slices.Concat(restarts, failovers, waits, lookings) }

func play(ctx context.Context, tb testbed.Testbed, s scenario) (seen []string, err error) {
	setup := s.setup
	setup.Seed, setup.Clients, setup.Clock = 1, 2, tb.Clock()
	setup.Commands = func(history.Command) {}
	if setup.Topology == "" {
		setup.Topology = testbed.Single
	}
	if setup.CommandTimeout == 0 {
		setup.CommandTimeout = time.Minute // so long that a busy machine causes no timeouts
	}
	err = tb.Run(ctx, setup, func(ctx context.Context, e testbed.Env) (err error) {
		w := &stage{ctx: ctx, env: e, Nodes: e.(testbed.Nodes)}
		defer func() {
			seen = w.seen
			if p, ok := recover().(stop); ok {
				err = p.error
			}
		}()
		s.body(w)
		return nil
	})
	return seen, err
}

// stage is the environment of a scenario, with the notes in seen.
type stage struct {
	testbed.Nodes
	ctx  context.Context
	env  testbed.Env
	seen []string
}

// stop is the value with which must and do panic to end a scenario.
type stop struct{ error }

// must ends the scenario on an error.
func (w *stage) must(err error) {
	if err != nil {
		panic(stop{err})
	}
}

// node returns a client's go-redis client of the node that the client uses now.
func (w *stage) node(client int) *redis.Client {
	return w.env.Client(client).Locks().Nodes[0].(*redis.Client)
}

// processor is a connection or a pool of connections.
type processor interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// see runs a command of client 0, and notes the command with its reply.
func (w *stage) see(args ...any) { w.seeOf(w.node(0), args...) }

func (w *stage) seeOf(c processor, args ...any) {
	w.note("%s: %s", strings.TrimSpace(fmt.Sprintln(args...)), w.reply(c, args...))
}

func (w *stage) note(format string, args ...any) {
	w.seen = append(w.seen, fmt.Sprintf(format, args...))
}

// do runs a command that must succeed.
func (w *stage) do(args ...any) {
	if r := w.reply(w.node(0), args...); strings.HasPrefix(r, "error") || r == "no reply" {
		panic(stop{fmt.Errorf("%v: %s", args, r)})
	}
}

// reply runs a command and returns the reply as text. If no reply comes, the text is "no reply"
// whatever the error, because the error depends on the network.
func (w *stage) reply(c processor, args ...any) string {
	v, err := c.Do(w.ctx, args...).Result()
	var answered redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return "nil"
	case errors.As(err, &answered):
		return "error " + answered.Error()
	case err != nil:
		return "no reply"
	}
	return fmt.Sprint(v)
}

// life notes the key's remaining life. If the life is about want, the note says want.
func (w *stage) life(key string, want time.Duration) {
	got, err := w.node(0).PTTL(w.ctx, key).Result()
	w.must(err)
	if got > want || got < want-tolerance {
		w.note("%s lives for %v, not %v", key, got, want)
		return
	}
	w.note("%s lives for %v", key, want)
}

// tolerance bounds how late a scenario on a busy machine may read a key's remaining life.
const tolerance = 5 * time.Second

// keys waits until a node's keys are as awaited, since a replica may need some time, and notes
// the keys.
func (w *stage) keys(node, awaited string) {
	got := ""
	w.await(func() bool {
		all, err := w.Keys(w.ctx, node)
		w.must(err)
		var texts []string
		for _, k := range all {
			life := ""
			if k.TTL >= 0 {
				life = " with a life"
			}
			texts = append(texts, fmt.Sprintf("%s=%s%s", k.Key, k.Value, life))
		}
		got = strings.Join(texts, ", ")
		return got == awaited
	})
	w.note("%s holds: %s", node, got)
}

// await waits until done returns true, but only for a limited time.
func (w *stage) await(done func() bool) {
	for end := w.env.Now() + 10*time.Second; !done() && w.env.Now() < end; {
		time.Sleep(5 * time.Millisecond)
	}
}

// restart kills a node and restarts it after the given time.
func (w *stage) restart(node string, after time.Duration) {
	w.must(w.Kill(w.ctx, node, nil))
	time.Sleep(after)
	_, err := w.Restart(w.ctx, node)
	w.must(err)
	w.settle()
}

// settle waits until the clients have replaced their broken connections.
func (w *stage) settle() {
	for i := range 2 {
		w.await(func() bool {
			time.Sleep(time.Millisecond)
			return w.reply(w.node(i), "PING") == "PONG"
		})
	}
}

// promote makes a replica the primary and waits until the clients have moved to it.
func (w *stage) promote(node string) {
	w.must(w.Promote(w.ctx, node))
	for i := range 2 {
		w.must(w.env.Client(i).Step(w.ctx, testbed.StepAcquire))
	}
	w.settle()
}

// holdReplication stops replication. The undo lets replication go on.
func (w *stage) holdReplication() testbed.Undo {
	undo, err := w.StopReplication(w.ctx)
	w.must(err)
	return undo
}

// inSync waits until both replicas have all data.
func (w *stage) inSync() {
	c := w.node(0).Conn()
	defer c.Close()
	w.await(func() bool {
		w.must(c.Do(w.ctx, "SET", "sync", "1").Err())
		w.must(c.Do(w.ctx, "DEL", "sync").Err())
		n, err := c.Do(w.ctx, "WAIT", testbed.Replicas, 5000).Int()
		w.must(err)
		return n == testbed.Replicas
	})
}
