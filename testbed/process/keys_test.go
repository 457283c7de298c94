package process

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// watched is what a trial reported: key changes, nodes whose keys are unseen, and commands.
type watched struct {
	mu       sync.Mutex
	changes  testbedtest.Chain
	unseen   map[string]error
	commands []history.Command
}

// watch runs body in a world whose keys are observed, and checks the invariants of all key changes.
func watch(t *testing.T, s testbed.Setup, body func(context.Context, testbed.Env, *watched) error) *watched {
	t.Helper()
	w := &watched{unseen: map[string]error{}}
	tb, err := New(Options{Temp: redistest.Memory(t)})
	if err != nil {
		t.Fatal(err)
	}
	s.Clients = max(s.Clients, 2)
	s.CommandTimeout, s.Clock = max(s.CommandTimeout, time.Minute), tb.Clock()
	s.Commands = func(c history.Command) { w.commands = append(w.commands, c) }
	s.Keys = func(c history.KeyChange) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes = append(w.changes, c)
	}
	s.Unseen = func(node string, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.unseen[node] != nil {
			t.Errorf("it was told twice that %s is unseen", node)
		}
		w.unseen[node] = err
	}
	if err := tb.Run(t.Context(), s, func(ctx context.Context, e testbed.Env) error { return body(ctx, e, w) }); err != nil {
		t.Fatal(err)
	}
	w.changes.Check(t, w.commands)
	if t.Failed() {
		t.Log("changes:\n" + strings.Join(w.changes.Lines(), "\n"))
	}
	return w
}

func first(e testbed.Env) *redis.Client { return e.Client(0).Locks().Nodes[0].(*redis.Client) }

// TestLivesThatEndAreToldOnceEach takes a key again as soon as it expires: no end of a life may be missing.
func TestLivesThatEndAreToldOnceEach(t *testing.T) {
	w := watch(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env, w *watched) error {
		r := first(e)
		for range 20 {
			if err := r.SetArgs(ctx, "busy", "v", redis.SetArgs{Mode: "NX", TTL: 5 * time.Millisecond}).Err(); err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			for taken := false; !taken; {
				var err error
				if taken, err = r.SetNX(ctx, "busy", "w", 3*time.Millisecond).Result(); err != nil {
					return err
				}
			}
		}
		time.Sleep(40 * time.Millisecond)
		return nil
	})
	by := map[history.ChangedBy]int{}
	for _, c := range w.changes {
		by[c.By]++
		if c.By == history.ByExpiry && c.From < c.Before.Expires-5*time.Millisecond {
			t.Errorf("%s: from %v on, its life ended at %v", testbedtest.Line(c), c.From, c.Before.Expires)
		}
	}
	if lives := by[history.ByCommand]; by[history.ByExpiry]+by[history.ByUnknown] != lives {
		t.Errorf("got %v, want as many ends of lives", by)
	}
	t.Logf("%v", by)
}
