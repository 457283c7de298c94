// Package strangers holds locks as other people write them: on counters, lists, sorted
// sets, transactions and scripts of their own, correct and incorrect. None says how its
// keys are to be read; each only promises what a lock promises (history.Claims). They
// test whether the harness can judge locks that it was never told about.
//
// A stranger that is Right breaks nothing that its commands could have kept. A wrong
// one has the mistake that Doc describes, unknown to its authors.
package strangers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Stranger is somebody else's lock.
type Stranger struct {
	ID  string // of its recipe
	Doc string // what it is, or what is wrong with it, in one sentence
	// Right: it has no mistake, only the limits of any lease.
	Right bool

	topology locks.Topology // "" = Single
	// promises are the claims beyond a lease of one owner on one node.
	promises func(c *history.Claims, nodes int)
	// bind makes a client's locks.
	bind func(c *locks.Client) maker
}

// maker makes a client's handle on a lock.
type maker func(key string, ttl time.Duration) (locks.Lock, error)

// All returns every stranger, in a fixed order.
func All() []Stranger {
	return slices.Concat(scripted(), tokens(), transactions(), counters(), renewals(), quorums(),
		readWrites(), queues(), fences(), hashes(), sets(), semaphores(), beside(), overwriting(), lives(), denying(), waiting())
}

// Recipe is the lock as a recipe that declares nothing but its promises.
func (s Stranger) Recipe() locks.Recipe {
	return locks.Recipe{
		ID:       s.ID,
		Summary:  s.Doc,
		Topology: cmp.Or(s.topology, locks.Single),
		Claims: func(ttl time.Duration, nodes int) history.Claims {
			life := time.Duration(milliseconds(ttl)) * time.Millisecond
			c := history.Claims{Lock: s.ID, Quorum: 1, TTL: ttl, Recovery: life}
			if s.promises != nil {
				s.promises(&c, nodes)
			}
			return c
		},
		New: func(c *locks.Client) (locks.Maker, error) { return locks.Maker(s.bind(c)), nil },
	}
}

// steps is a lock made of two functions.
type steps struct {
	acquire func(context.Context) (locks.Lease, error)
	release func(context.Context, locks.Lease) error
}

// TryLock implements locks.Lock.
func (s steps) TryLock(ctx context.Context) (locks.Lease, error) { return s.acquire(ctx) }

// Unlock implements locks.Lock.
func (s steps) Unlock(ctx context.Context, l locks.Lease) error { return s.release(ctx, l) }

// lease is what most locks are made of: a client's one node, a key and a life.
type lease struct {
	c   *locks.Client
	key string
	ttl time.Duration
}

func (l lease) node() redis.UniversalClient { return l.c.Nodes[0] }
func (l lease) life() int64                 { return milliseconds(l.ttl) }

// of binds a lock that keeps no state per client.
func of(lock func(l lease) locks.Lock) func(*locks.Client) maker {
	return func(c *locks.Client) maker {
		return func(key string, ttl time.Duration) (locks.Lock, error) { return lock(lease{c, key, ttl}), nil }
	}
}

// attempt draws a token and asks with it. The reply 1 grants; nil and 0 refuse.
func (l lease) attempt(ask func(token string) *redis.Cmd) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	return locks.Lease{Token: token}, granted(ask(token))
}

// granted reads a reply that grants (1, OK) or refuses (0, nil).
func granted(reply *redis.Cmd) error {
	v, err := reply.Result()
	switch {
	case errors.Is(err, redis.Nil), err == nil && v == int64(0):
		return locks.ErrBusy
	case err != nil:
		return fmt.Errorf("acquire: %w", err)
	}
	return nil
}

// released reads a reply that counts what was released.
func released(reply *redis.Cmd) error {
	n, err := reply.Int64()
	switch {
	case errors.Is(err, redis.Nil), err == nil && n == 0:
		return locks.ErrNotHeld
	case err != nil:
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// compareAndDelete removes the key if it holds the token.
var compareAndDelete = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
else
  return 0
end`)

// unlock releases by compareAndDelete.
func (l lease) unlock(ctx context.Context, held locks.Lease) error {
	return released(compareAndDelete.Run(ctx, l.node(), []string{l.key}, held.Token))
}

func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
