package workloads_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// keyQuorum takes several keys on one node, and holds the lock if it gets a majority of them.
// RedLock does the same with nodes.
type keyQuorum struct {
	client *locks.Client
	keys   []string
	ttl    time.Duration
}

const votes = 3 // number of keys of one lock

func init() {
	locks.Register(locks.Recipe{
		ID: "test-key-quorum", Topology: locks.Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			return history.Claims{Quorum: votes/2 + 1, QuorumOf: history.QuorumOfKeys, TTL: ttl, Recovery: ttl}
		},
		New: func(c *locks.Client) (locks.Maker, error) {
			return func(key string, ttl time.Duration) (locks.Lock, error) {
				l := &keyQuorum{client: c, ttl: ttl}
				for i := range votes {
					l.keys = append(l.keys, fmt.Sprintf("{%s}:%d", key, i))
				}
				return l, nil
			}, nil
		},
	})
}

// TryLock implements locks.Lock.
func (l *keyQuorum) TryLock(ctx context.Context) (locks.Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	lease, granted, start := locks.Lease{Token: token}, 0, l.client.Now()
	for _, key := range l.keys {
		set, err := l.client.Nodes[0].SetNX(ctx, key, token, l.ttl).Result()
		if err != nil {
			return lease, err
		}
		if set {
			granted++
		}
	}
	if granted > votes/2 {
		lease.Deadline = start.Add(l.ttl)
		return lease, nil
	}
	if err := l.Unlock(ctx, lease); err != nil && !errors.Is(err, locks.ErrNotHeld) {
		return lease, err
	}
	return lease, locks.ErrBusy
}

// Unlock implements locks.Lock.
func (l *keyQuorum) Unlock(ctx context.Context, lease locks.Lease) error {
	const release = `local n = 0
for _, key in ipairs(KEYS) do
  if redis.call("GET", key) == ARGV[1] then n = n + redis.call("DEL", key) end
end
return n`
	released, err := l.client.Nodes[0].Eval(ctx, release, l.keys, lease.Token).Int()
	switch {
	case err != nil:
		return err
	case released <= votes/2:
		return locks.ErrNotHeld
	}
	return nil
}

// A lock made of a majority of keys on one node can be tried like any other lock.
func TestAQuorumOfKeysIsPutOnTrial(t *testing.T) {
	r, _ := locks.ByID("test-key-quorum")
	if err := r.CheckClaims(time.Second, 1); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		s := spec("test-key-quorum", "mutex", seed)
		undisturbed := run(t, s)
		excludes(t, undisturbed)
		for _, fault := range []string{"client-crash", "partition"} {
			if s, ok := struck(t, s, fault, undisturbed); ok {
				excludes(t, run(t, s))
			}
		}
	}
}

// excludes checks that the oracle exclusion held.
func excludes(t *testing.T, e history.Evidence) {
	t.Helper()
	if v := said(t, e, "exclusion"); v.Result != checker.Held {
		t.Errorf("exclusion is %s: %s %v", v.Result, v.Why, v.Findings)
	}
}
