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

// Locks with mistakes that show even if nothing goes wrong.
var (
	letEverybodyIn = []string{"grants-everybody", "worker-number", "fence-overwritten", "constant-overwritten", "owner-beside-owner", "owner-beside-owner-untold", "ignores-refusal", "script-answers-one", "script-answers-one-untold"}
	// In these locks, a holder's release removes nothing once another client was refused.
	releaseNothing = []string{"number-overwritten", "owner-overwritten", "document-signed", "document-signed-untold"}
	denyReleases   = []string{"denies-release"}
)

// On a Redis where nothing goes wrong, each lock can be acquired, refuses others and can be
// released, except for the mistakes above.
func TestEachLockWorksWhereNothingGoesWrong(t *testing.T) {
	var servers []*redisserver.Server
	for range 3 {
		servers = append(servers, redistest.Test(t))
	}
	for _, s := range All() {
		t.Run(s.ID, func(t *testing.T) {
			r := s.Recipe()
			c := r.Claims(time.Minute, len(servers))
			ours, others := handle(t, r, servers), handle(t, r, servers)
			released := func(err error) bool {
				return err == nil || slices.Contains(denyReleases, s.ID) && errors.Is(err, locks.ErrNotHeld)
			}
			for range 2 {
				if s.ID == "at-least-for" {
					time.Sleep(2 * leastFor) // longer than the minimum time for which the key stays
				}
				leases := takeAll(t, ours, max(1, c.Permits), s.ID == "semaphore-one-too-many")
				if _, err := write(others).TryLock(t.Context()); !errors.Is(err, locks.ErrBusy) != slices.Contains(letEverybodyIn, s.ID) {
					t.Errorf("the other got %v", err)
				}
				if slices.Contains(letEverybodyIn, s.ID) || slices.Contains(releaseNothing, s.ID) {
					return
				}
				for _, l := range leases {
					if err := write(ours).Unlock(t.Context(), l); !released(err) {
						t.Errorf("release: %v", err)
					}
				}
				if s.ID == "at-least-for" {
					time.Sleep(2 * leastFor) // longer than the minimum time for which the key stays
				}
				l, err := write(others).TryLock(t.Context())
				if err != nil {
					t.Fatalf("the other, after the release: %v", err)
				}
				if err := write(others).Unlock(t.Context(), l); !released(err) {
					t.Errorf("the other's release: %v", err)
				}
			}
		})
	}
}

// takeAll acquires the lock once for each permit, and once more if more is set.
func takeAll(t *testing.T, l locks.Lock, permits int, more bool) (leases []locks.Lease) {
	t.Helper()
	if more {
		permits++
	}
	for range permits {
		lease, err := write(l).TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	return leases
}

// write returns the lock, or its write lock if it is a read-write lock.
func write(l locks.Lock) locks.Lock {
	if rw, ok := l.(locks.RWLocker); ok {
		return rw.Write()
	}
	return l
}

// Readers share the lock. They keep a writer out until the last reader has left.
func TestReadersShareTheLock(t *testing.T) {
	server := redistest.Test(t)
	for _, s := range All() {
		r := s.Recipe()
		if !r.Claims(time.Minute, 1).ReadWrite {
			continue
		}
		t.Run(s.ID, func(t *testing.T) {
			first := handle(t, r, []*redisserver.Server{server}).(locks.RWLocker)
			second := handle(t, r, []*redisserver.Server{server}).(locks.RWLocker)
			var leases []locks.Lease
			for _, l := range []locks.RWLocker{first, second} {
				lease, err := l.Read().TryLock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				leases = append(leases, lease)
			}
			for i, l := range []locks.RWLocker{first, second} {
				if _, err := l.Write().TryLock(t.Context()); !errors.Is(err, locks.ErrBusy) {
					t.Errorf("a writer beside %d readers: %v, want ErrBusy", 2-i, err)
				}
				if err := l.Read().Unlock(t.Context(), leases[i]); err != nil {
					t.Errorf("release: %v", err)
				}
			}
			lease, err := first.Write().TryLock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := second.Read().TryLock(t.Context()); !errors.Is(err, locks.ErrBusy) {
				t.Errorf("a reader beside the writer: %v, want ErrBusy", err)
			}
			if err := first.Write().Unlock(t.Context(), lease); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
}

// handle makes another client and returns its handle on the lock "k".
func handle(t *testing.T, r locks.Recipe, servers []*redisserver.Server) locks.Lock {
	t.Helper()
	c := &locks.Client{ID: "c", Now: time.Now, Rand: rand.Reader, Context: t.Context()}
	if r.Topology == locks.Single {
		servers = servers[:1]
	}
	for _, s := range servers {
		node := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
		t.Cleanup(func() {
			node.FlushAll(context.Background())
			_ = node.Close() // the server ends with the test
		})
		c.Nodes = append(c.Nodes, node)
	}
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
