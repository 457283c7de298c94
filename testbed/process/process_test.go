package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestMain(m *testing.M) {
	if os.Getenv(harnessVariable) != "" {
		playHarness()
	}
	goleak.VerifyTestMain(m)
}

// hasty is the clients' patience where something is meant to time out.
const hasty = 250 * time.Millisecond

// memory returns a directory in memory where there is one: a busy disk makes
// Redis put off its writes.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "lockstorm-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// trial is one running world, as tests see it.
type trial struct {
	*testing.T
	*env
	ctx context.Context

	mu       sync.Mutex
	commands []history.Command
}

// run runs body in a world of its own, and checks that nothing is left of it.
// It returns the commands that it took.
func run(t *testing.T, s testbed.Setup, body func(*trial)) []history.Command {
	t.Helper()
	w, err := try(t, s, func(w *trial) error { body(w); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return w.commands
}

func try(t *testing.T, s testbed.Setup, body func(*trial) error) (*trial, error) {
	t.Helper()
	temp := memory(t)
	tb, err := New(Options{Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	if s.Clients == 0 {
		s.Clients = 2
	}
	if s.CommandTimeout == 0 {
		s.CommandTimeout = time.Minute // nothing times out because the machine is busy
	}
	start := time.Now()
	s.Clock = func() time.Duration { return time.Since(start) }
	w := &trial{T: t}
	s.Commands = func(c history.Command) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.commands = append(w.commands, c)
	}
	err = tb.Run(t.Context(), s, func(ctx context.Context, e testbed.Env) error {
		w.env, w.ctx = e.(*env), ctx
		return body(w)
	})
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return w, err
}

// redis is a client's connection pool to its i-th node.
func (w *trial) redis(client, node int) *redis.Client {
	return w.Client(client).Locks().Nodes[node]
}

func (w *trial) step(client int, name string) {
	w.Helper()
	if err := w.Client(client).Step(w.ctx, name); err != nil {
		w.Fatal(err)
	}
}

// set is one SET of a client on its first node.
func (w *trial) set(client int, key, value string) error {
	return w.redis(client, 0).Set(w.ctx, key, value, 0).Err()
}

func (w *trial) mustSet(client int, key, value string) {
	w.Helper()
	if err := w.set(client, key, value); err != nil {
		w.Fatal(err)
	}
}

// onNode is a key's value as the node itself has it; "" if it has none.
func (w *trial) onNode(node, key string) string {
	w.Helper()
	keys, err := w.Keys(w.ctx, node)
	if err != nil {
		w.Fatal(err)
	}
	for _, k := range keys {
		if k.Key == key {
			return string(k.Value)
		}
	}
	return ""
}

// undo takes a fault back and checks how much it hit.
func (w *trial) undo(u testbed.Undo, want int) {
	w.Helper()
	for _, again := range []string{"", " again"} {
		if hits, err := u(w.ctx); hits != want || err != nil {
			w.Errorf("undo%s: got %d hits, %v, want %d", again, hits, err, want)
		}
	}
}

// must fails the test on an error.
func must[T any](v T, err error) func(*trial) T {
	return func(w *trial) T {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return v
	}
}

// named returns the commands of that name.
func named(commands []history.Command, name string) []history.Command {
	var some []history.Command
	for _, c := range commands {
		if testbed.CommandName(c.Args) == name {
			some = append(some, c)
		}
	}
	return some
}

func TestWorldsAreBuiltAndGone(t *testing.T) {
	for name, c := range map[string]struct {
		setup testbed.Setup
		nodes []string
	}{
		"single":        {testbed.Setup{Topology: testbed.Single}, []string{"n0"}},
		"replicated":    {testbed.Setup{Topology: testbed.Replicated}, []string{"n0"}},
		"independent":   {testbed.Setup{Topology: testbed.Independent}, []string{"n0", "n1", "n2", "n3", "n4"}},
		"three nodes":   {testbed.Setup{Topology: testbed.Independent, Nodes: 3, Clients: 1}, []string{"n0", "n1", "n2"}},
		"always synced": {testbed.Setup{Topology: testbed.Single, Durability: testbed.Always}, []string{"n0"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			commands := run(t, c.setup, func(w *trial) {
				if got := w.List(); strings.Join(got, " ") != strings.Join(c.nodes, " ") {
					t.Errorf("List: got %v, want %v", got, c.nodes)
				}
				w.step(0, "acquire")
				for i := range c.nodes {
					if err := w.redis(0, i).Set(w.ctx, "k", i, 0).Err(); err != nil {
						t.Error(err)
					}
				}
			})
			sets := named(commands, "SET")
			if len(sets) != len(c.nodes) {
				t.Fatalf("got %d SETs, want %d", len(sets), len(c.nodes))
			}
			for i, s := range sets {
				if s.Node != c.nodes[i] || s.N != 1 || s.Phase != "acquire" || s.Reply != "OK" || s.Exec == 0 ||
					!(s.Sent <= s.Arrived && s.Arrived < s.Served && s.Served <= s.Replied) {
					t.Errorf("got %+v, want the first of the step on %s, seen all the way", s, c.nodes[i])
				}
			}
		})
	}
}

func TestExecTellsTheOrderOnTheNode(t *testing.T) {
	commands := run(t, testbed.Setup{Topology: testbed.Single, Clients: 4}, func(w *trial) {
		var all sync.WaitGroup
		for c := range 4 {
			all.Go(func() {
				for range 50 {
					w.redis(c, 0).Incr(w.ctx, "k")
				}
			})
		}
		all.Wait()
	})
	byValue := map[string]int{}
	for _, c := range named(commands, "INCR") {
		byValue[string(c.Reply)] = c.Exec
	}
	for i := 2; i <= 200; i++ {
		a, b := byValue[itoa(i-1)], byValue[itoa(i)]
		if a == 0 || a >= b {
			t.Fatalf("INCR to %d ran as %d, to %d as %d", i-1, a, i, b)
		}
	}
}

func TestBlockedCommandsLetOthersRun(t *testing.T) {
	run(t, testbed.Setup{Topology: testbed.Single, CommandTimeout: 5 * time.Second}, func(w *trial) {
		sub := w.redis(0, 0).Subscribe(w.ctx, "news")
		defer sub.Close()
		if _, err := sub.Receive(w.ctx); err != nil {
			t.Fatal(err)
		}
		popped := make(chan error, 1)
		go func() { popped <- w.redis(0, 0).BLPop(w.ctx, 5*time.Second, "list").Err() }()
		if err := w.redis(1, 0).Publish(w.ctx, "news", "x").Err(); err != nil {
			t.Fatal(err)
		}
		if m, err := sub.ReceiveMessage(w.ctx); err != nil || m.Payload != "x" {
			t.Errorf("got %v, %v, want x", m, err)
		}
		if err := w.redis(1, 0).RPush(w.ctx, "list", 1).Err(); err != nil {
			t.Fatal(err)
		}
		if err := <-popped; err != nil {
			t.Error(err)
		}
	})
}

func TestClientsClockIsSkewed(t *testing.T) {
	run(t, testbed.Setup{Topology: testbed.Single}, func(w *trial) {
		w.Skew(0, time.Hour)
		if got := w.Client(0).Locks().Now().Sub(w.Client(1).Locks().Now()).Round(time.Minute); got != time.Hour {
			t.Errorf("c0 is ahead of c1 by %v, want 1h", got)
		}
	})
}

func TestTokensComeFromTheSeed(t *testing.T) {
	token := func(seed uint64) (token string) {
		run(t, testbed.Setup{Topology: testbed.Single, Seed: seed}, func(w *trial) {
			token = must(w.Client(1).Locks().Token())(w)
		})
		return token
	}
	if a, b, c := token(1), token(1), token(2); a != b || a == c {
		t.Errorf("seeds 1, 1, 2: got %s, %s, %s", a, b, c)
	}
}

func TestOtherLibrariesReachTheNodesByAddress(t *testing.T) {
	run(t, testbed.Setup{Topology: testbed.Single}, func(w *trial) {
		l := w.Client(0).Locks()
		c := redis.NewClient(&redis.Options{Addr: l.Addrs[0], Dialer: l.Dial})
		defer c.Close()
		if err := c.Ping(w.ctx).Err(); err != nil {
			t.Error(err)
		}
		if _, err := l.Dial(w.ctx, "tcp", "127.0.0.1:1"); err == nil {
			t.Error("an unknown address can be dialled")
		}
	})
}

func TestBodysErrorIsReturnedAsItIs(t *testing.T) {
	want := errors.New("body")
	if _, err := try(t, testbed.Setup{Topology: testbed.Single}, func(*trial) error { return want }); err != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestAPanicOfTheBodyLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t)
	pid := 0
	func() {
		defer func() {
			if got := recover(); got != "body" {
				t.Errorf("recovered %v, want the body's panic", got)
			}
		}()
		try(t, testbed.Setup{Topology: testbed.Single}, func(w *trial) error {
			pid = w.nodes[0].server.PID()
			panic("body")
		})
	}()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("redis-server %d: got %v, want it gone", pid, err)
	}
}

func TestEndOfContextEndsTheServers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tb, err := New(Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	err = tb.Run(ctx, testbed.Setup{
		Topology: testbed.Single, Clients: 1,
		Clock: func() time.Duration { return 1 }, Commands: func(history.Command) {},
	}, func(ctx context.Context, e testbed.Env) error {
		cancel()
		<-e.(*env).nodes[0].server.Exited() // though the body goes on
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestANodeThatDiesUnaskedIsNamed(t *testing.T) {
	_, err := try(t, testbed.Setup{Topology: testbed.Independent, Nodes: 2}, func(w *trial) error {
		if err := syscall.Kill(w.nodes[1].server.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-w.ctx.Done()
		return errors.New("what the body made of it")
	})
	if err == nil || !strings.Contains(err.Error(), "node n1 died unasked: ") || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "last log line") {
		t.Errorf("got %v, want one line that names n1 and its last log line", err)
	}
}

func TestBadSetupsAreOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		setup testbed.Setup
		want  string
	}{
		"topology":                 {testbed.Setup{Topology: "ring"}, `topology "ring"`},
		"durability":               {testbed.Setup{Topology: testbed.Single, Durability: "some"}, `durability "some"`},
		"clients":                  {testbed.Setup{Topology: testbed.Single, Clients: -1}, "at least one of each"},
		"nodes":                    {testbed.Setup{Topology: testbed.Independent, Nodes: -1}, "at least one of each"},
		"unwritable log directory": {testbed.Setup{Topology: testbed.Single, Logs: filepath.Join(file, "logs")}, "log directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := try(t, c.setup, func(*trial) error { t.Error("body was called"); return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}

func TestLogsAreKept(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	run(t, testbed.Setup{Topology: testbed.Independent, Nodes: 2, Logs: logs}, func(*trial) {})
	for _, name := range []string{"n0.log", "n1.log"} {
		if text, err := os.ReadFile(filepath.Join(logs, name)); err != nil || !strings.Contains(string(text), "Ready to accept") {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
}
