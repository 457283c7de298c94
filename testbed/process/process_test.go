package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/childtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs body in the world that s describes, by default with two clients, and checks that the
// trial leaves no files.
func run(t *testing.T, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	t.Helper()
	temp := redistest.Memory(t)
	defer checkEmpty(t, temp)
	tb, err := New(Options{Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	if s.Clients == 0 {
		s.Clients = 2
	}
	s.CommandTimeout = time.Minute // long, so that nothing times out on a busy machine
	s.Clock, s.Commands = tb.Clock(), func(history.Command) {}
	return tb.Run(t.Context(), s, body)
}

// serverOf returns the process id of a node's server.
func serverOf(ctx context.Context, e testbed.Env, node int) (pid int, err error) {
	info, err := e.Client(0).Locks().Nodes[node].(*redis.Client).InfoMap(ctx, "server").Result()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(info["Server"]["process_id"])
}

// mustServerOf returns the process id of a node's server, and ends the test on an error.
func mustServerOf(ctx context.Context, t *testing.T, e testbed.Env, node int) int {
	t.Helper()
	pid, err := serverOf(ctx, e, node)
	if err != nil {
		t.Fatal(err)
	}
	return pid
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
		run(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env) error {
			pid = mustServerOf(ctx, t, e, 0)
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
		pid := mustServerOf(ctx, t, e, 0)
		cancel()
		childtest.AwaitEnd(t, pid) // the server ends although the body goes on
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestANodeThatDiesUnaskedIsNamed(t *testing.T) {
	err := run(t, testbed.Setup{Topology: testbed.Independent, Nodes: 2}, func(ctx context.Context, e testbed.Env) error {
		if err := syscall.Kill(mustServerOf(ctx, t, e, 1), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		return errors.New("what the body made of it")
	})
	if err == nil || !strings.Contains(err.Error(), "node n1 died unexpectedly: ") || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "last log line") {
		t.Errorf("got %v, want one line that names n1 and its last log line", err)
	}
}

func TestAnUnwritableLogDirectoryIsOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	setup := testbed.Setup{Topology: testbed.Single, Logs: filepath.Join(file, "logs")}
	err := run(t, setup, func(context.Context, testbed.Env) error { t.Error("body was called"); return nil })
	if err == nil || !strings.Contains(err.Error(), "log directory") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line", err)
	}
}

func TestLogsAreKept(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	setup := testbed.Setup{Topology: testbed.Independent, Nodes: 2, Logs: logs}
	if err := run(t, setup, func(context.Context, testbed.Env) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n0.log", "n1.log"} {
		if text, err := os.ReadFile(filepath.Join(logs, name)); err != nil || !strings.Contains(string(text), "Ready to accept") {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
}

func TestASentinelThatDiesUnaskedIsNamed(t *testing.T) {
	logs := t.TempDir()
	setup := testbed.Setup{Topology: testbed.Sentinel, Logs: logs}
	err := run(t, setup, func(ctx context.Context, _ testbed.Env) error {
		text, err := os.ReadFile(filepath.Join(logs, "s1.log"))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), ":") // the process id in "4711:X 21 Nov 2026 …"
		pid, err := strconv.Atoi(first)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		return errors.New("what the body made of it")
	})
	if err == nil || !strings.Contains(err.Error(), "node s1 died unexpectedly: ") {
		t.Errorf("got %v, want one that names s1", err)
	}
}
