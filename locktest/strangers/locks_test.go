package strangers

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/locks"
)

func TestIDsAreUniqueAndClaimsAreValid(t *testing.T) {
	var ids []string
	for _, s := range All() {
		if slices.Contains(ids, s.ID) {
			t.Errorf("two locks are called %s", s.ID)
		}
		ids = append(ids, s.ID)
		r := s.Recipe()
		for _, ttl := range []time.Duration{time.Second, 1500 * time.Millisecond} {
			if err := r.CheckClaims(ttl, 5); err != nil {
				t.Errorf("a lease of %v: %v", ttl, err)
			}
		}
	}
}

// Readers share a lock, and a semaphore has all its permits: the table cannot tell, since a lock that
// keeps too many out violates nothing. One client too many is refused, until a holder leaves.
func TestWhatIsSharedIsShared(t *testing.T) {
	server := redistest.Test(t)
	for _, s := range All() {
		r := s.Recipe()
		c := r.Claims(time.Minute, 1)
		if !c.ReadWrite && c.Permits == 0 || s.ID == "semaphore-one-too-many" {
			continue
		}
		t.Run(s.ID, func(t *testing.T) {
			var holders [permits]locks.Lock
			var leases [permits]locks.Lease
			beside := handle(t, r, server)
			for i := range holders {
				holders[i] = handle(t, r, server)
				if rw, ok := holders[i].(locks.RWLocker); ok {
					holders[i] = rw.Read()
				}
			}
			var err error
			for i, l := range holders {
				if leases[i], err = l.TryLock(t.Context()); err != nil {
					t.Fatalf("holder %d: %v", i, err)
				}
			}
			for i, l := range holders {
				if _, err := beside.TryLock(t.Context()); !errors.Is(err, locks.ErrBusy) && (i == 0 || c.ReadWrite) {
					t.Errorf("beside %d holders: %v, want ErrBusy", len(holders)-i, err)
				}
				if err := l.Unlock(t.Context(), leases[i]); err != nil {
					t.Errorf("release: %v", err)
				}
			}
			if _, err := beside.TryLock(t.Context()); err != nil {
				t.Errorf("after the last release: %v", err)
			}
		})
	}
}

// handle makes another client and returns its handle on the lock "k".
func handle(t *testing.T, r locks.Recipe, server *redisserver.Server) locks.Lock {
	t.Helper()
	c := &locks.Client{ID: "c", Now: time.Now, Rand: rand.Reader, Context: t.Context()}
	node := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() {
		node.FlushAll(context.Background())
		_ = node.Close() // the server ends with the test
	})
	c.Nodes = []locks.Node{node}
	maker, err := r.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := maker("k", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
