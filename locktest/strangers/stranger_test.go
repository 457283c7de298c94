// Package strangers holds locks as other people write them: built on counters, lists, sorted sets,
// transactions and their own scripts. Some are correct, some are not. No lock declares how to read
// its keys; each only promises what a lock promises (history.Claims). The package tests whether the
// harness can judge locks that it knows nothing about.
//
// A Stranger with Right keeps every promise that its commands can keep. Any other Stranger has the
// mistake that Doc describes.
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

// Stranger is a lock that somebody else wrote.
type Stranger struct {
	ID  string // the id of its recipe
	Doc string // what the lock is, or what is wrong with it, in one sentence
	// Right: the lock has no mistake, only the limits of any lease.
	Right bool

	topology locks.Topology // "" = Single
	// promises adds the claims that go beyond a lease of one owner on one node.
	promises func(c *history.Claims, nodes int)
	// bind returns a maker of one client's locks.
	bind func(c *locks.Client) maker
}

// maker makes a client's handle on a lock.
type maker func(key string, ttl time.Duration) (locks.Lock, error)

// All returns every stranger, in a fixed order.
func All() []Stranger {
	return slices.Concat(scripted(), tokens(), transactions(), counters(), renewals(), quorums(),
		readWrites(), queues(), fences(), hashes(), sets(), semaphores(), secondKeys(), overwriting(), documents(), lives(), falseFailures(), waiting())
}

// Recipe returns the lock as a recipe that declares its promises (Claims), but no flaws.
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

// lease is the common part of most locks: a client, a key and a TTL. These locks use only the
// client's first node.
type lease struct {
	c   *locks.Client
	key string
	ttl time.Duration
}

func (l lease) node() locks.Node { return l.c.Nodes[0] }
func (l lease) life() int64      { return milliseconds(l.ttl) }

// of returns the bind function of a lock that keeps no state per client.
func of(lock func(l lease) locks.Lock) func(*locks.Client) maker {
	return func(c *locks.Client) maker {
		return func(key string, ttl time.Duration) (locks.Lock, error) { return lock(lease{c, key, ttl}), nil }
	}
}

// attempt draws a token and acquires with it. The reply 1 or OK grants; nil and 0 refuse.
func (l lease) attempt(ask func(token string) *redis.Cmd) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	return locks.Lease{Token: token}, granted(ask(token))
}

// set takes the lock by SET NX PX with a new token.
func (l lease) set(ctx context.Context) (locks.Lease, error) {
	return l.attempt(func(token string) *redis.Cmd { return setNX(ctx, l, token) })
}

func setNX(ctx context.Context, l lease, token string) *redis.Cmd {
	return l.node().Do(ctx, "SET", l.key, token, "NX", "PX", l.life())
}

// take returns a function that acquires by a script with the arguments token and TTL.
func (l lease) take(script *redis.Script, keys ...string) func(context.Context) (locks.Lease, error) {
	return func(ctx context.Context) (locks.Lease, error) {
		return l.attempt(func(token string) *redis.Cmd { return script.Run(ctx, l.node(), keys, token, l.life()) })
	}
}

// drop returns a function that releases by a script with the argument token.
func (l lease) drop(script *redis.Script, keys ...string) func(context.Context, locks.Lease) error {
	return func(ctx context.Context, held locks.Lease) error {
		return released(script.Run(ctx, l.node(), keys, held.Token))
	}
}

// remove returns a function that releases by a command that removes the token from the key.
func (l lease) remove(command string) func(context.Context, locks.Lease) error {
	return func(ctx context.Context, held locks.Lease) error {
		return released(l.node().Do(ctx, command, l.key, held.Token))
	}
}

// granted reads a reply that grants (1, OK) or refuses (0, nil). It returns nil for a grant,
// locks.ErrBusy for a refusal, and otherwise the error of the failed command.
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

// released reads a reply that counts the keys or members that a release removed, or a renewal
// prolonged. The error is locks.ErrNotHeld if there were none.
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

// now is the beginning of scripts that need the node's time. It sets the variable now, in
// milliseconds.
const now = `
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`

func (l lease) unlock(ctx context.Context, held locks.Lease) error {
	return released(compareAndDelete.Run(ctx, l.node(), []string{l.key}, held.Token))
}

// milliseconds rounds up to whole milliseconds.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
