package external

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
	"github.com/lockstorm/lockstorm/workloads"
)

// TestEveryRecipeStaysAmongItsOwnKeys runs each recipe as the user of Grant, on servers that have
// another program's keys, among them a key with the lock's name. The servers must not refuse any command.
func TestEveryRecipeStaysAmongItsOwnKeys(t *testing.T) {
	o := Options{User: "lockstorm", Password: "PASSWORD"}
	var same []func() error
	var servers []*redis.Client
	for range 3 {
		s := redistest.Test(t)
		c := admin(t, &redis.Options{Addr: s.Addr()})
		set(t, c, Grant)
		same = append(same, foreign(t, c))
		servers = append(servers, c)
		o.Addrs = append(o.Addrs, s.Addr())
	}
	tb, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("recipes", func(t *testing.T) {
		for _, r := range locks.All() {
			t.Run(r.ID, func(t *testing.T) {
				topology := map[locks.Topology]testbed.Topology{
					locks.Single: testbed.Single, locks.Independent: testbed.Independent,
				}[r.Topology]
				if topology == "" {
					t.Skipf("needs %s nodes, which this testbed has not", r.Topology)
				}
				t.Parallel()
				tryRecipe(t, tb, r, topology)
			})
		}
	})
	for _, same := range same {
		if err := same(); err != nil {
			t.Error(err)
		}
	}
	for i, c := range servers {
		if denied, err := c.Do(t.Context(), "ACL", "LOG").Slice(); err != nil || len(denied) != 0 {
			t.Errorf("server %d refused %v, %v", i, denied, err)
		}
	}
}

// tryRecipe runs one trial of the recipe. The locks must be granted, with two exceptions: if the
// recipe declares that its second release panics, the trial ends there; if the recipe declares that
// it never grants its lock, its attempts must fail with an error of Redis.
func tryRecipe(t *testing.T, tb *Testbed, r locks.Recipe, topology testbed.Topology) {
	t.Helper()
	o := workloads.Options{
		Clients: 3, Keys: 1, TTL: 5 * time.Second, Hold: 10 * time.Millisecond, Rest: 10 * time.Millisecond,
		Retry: 20 * time.Millisecond, Duration: 50 * time.Millisecond, Seed: 1,
	}
	if topology == testbed.Independent {
		o.TTL = 30 * time.Second // RedLock waits for a node for a share of the TTL
	}
	o.Margin = o.TTL / 2
	claims := r.Claims(o.TTL, 3)
	if claims.Renews && topology == testbed.Single {
		o.Overrun = 0.25 // so that the recipe renews its lease; not if the TTL is 30 s (too slow)
	}
	i := slices.IndexFunc(workloads.All(), func(w workloads.Workload) bool {
		return w.Standard && w.Document == "" && w.Asks == nil && w.Suits(claims)
	})
	rec := history.NewRecorder(io.Discard, tb.Clock())
	var mu sync.Mutex
	var commands []history.Command
	// The timeout is longer than a busy machine stalls. After a timeout nobody holds the lock, and polling
	// clients of setnx-expire-pipeline prolong it.
	err := tb.Run(t.Context(), testbed.Setup{
		Topology: topology, Nodes: 3, Clients: o.Clients, Seed: o.Seed, CommandTimeout: 15 * time.Second, Clock: rec.Now,
		Commands: func(c history.Command) {
			mu.Lock()
			defer mu.Unlock()
			commands = append(commands, c)
		},
	}, func(ctx context.Context, env testbed.Env) error {
		healed := make(chan struct{})
		time.AfterFunc(o.Duration, func() { close(healed) })
		return workloads.All()[i].Body(ctx, workloads.World{
			Env: env, Claims: claims, Opts: o, Rec: rec, Healed: healed,
			Make: func(client int) (locks.Maker, error) { return r.Bind(env.Client(client).Locks()) },
		})
	})
	checkOutcome(t, r, rec.Ops(), err)
	for _, c := range commands {
		for _, key := range resp.Keys(resp.Of(c.Args), c.Args) {
			if !strings.Contains(string(key), tb.Prefix()) {
				t.Fatalf("%s is not of this trial: %+v", key, c)
			}
		}
	}
}

// checkOutcome checks that a trial ended as the recipe declares, and that it granted locks if the
// recipe can.
func checkOutcome(t *testing.T, r locks.Recipe, ops []history.Op, err error) {
	t.Helper()
	_, panics := r.Declares("conduct", "panic", "none")
	_, never := r.Declares("liveness", "no-expiry", "none")
	var broken *testbed.Breakdown
	panicked := errors.As(err, &broken) && broken.Kind == history.FPanic
	if panicked != panics || err != nil && !panicked {
		t.Fatalf("the trial ended with %v, want a panic: %t", err, panics)
	}
	acquired := func(op history.Op) bool { return op.F == history.FAcquire && op.Type == history.OK }
	if granted := slices.ContainsFunc(ops, acquired); granted == never {
		t.Errorf("a lock was granted: %t, in %d entries, want %t; the first: %+v", granted, len(ops), !never, ops[:min(10, len(ops))])
	}
	failed := func(op history.Op) bool {
		return op.F == history.FAcquire && op.Type == history.Info && strings.Contains(op.Error, "value is not an integer")
	}
	if never && !slices.ContainsFunc(ops, failed) {
		t.Errorf("no attempt ended with the error of EXPIRE, in %d entries", len(ops))
	}
}
