package strangers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// obtain takes the key if it is free. It replies OK, or nil if the key is taken.
// KEYS[1] is the lock, ARGV[1] the token, ARGV[2] the TTL in milliseconds.
var obtain = redis.NewScript(`return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`)

// refresh prolongs the key's TTL if the key holds the token.
var refresh = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
else
  return 0
end`)

// These scripts reply with two numbers: 1 for success or 0 for failure, and the key's remaining TTL
// in milliseconds.
var (
	obtainTelling = redis.NewScript(`
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return {1, tonumber(ARGV[2])}
end
return {0, redis.call('pttl', KEYS[1])}`)
	releaseTelling = redis.NewScript(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return {0, redis.call('pttl', KEYS[1])}
end
local left = redis.call('pttl', KEYS[1])
redis.call('del', KEYS[1])
return {1, left}`)
)

// takeAnyway grants the lock even if another client holds it.
var takeAnyway = redis.NewScript(`
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

// These are the scripts of go-zero's core/stores/redis, redislock.go. The holder of the
// lock may take it again; this renews the TTL.
var (
	goZeroLock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then
    redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
    return "OK"
else
    return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])
end`)
	goZeroUnlock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then
    return redis.call("DEL", KEYS[1])
else
    return 0
end`)
)

// scripted are locks of one string key that scripts take and release.
func scripted() []Stranger {
	return []Stranger{
		{ID: "script-lock", Doc: "SET NX PX in a script, compare and delete", Right: true, bind: of(scriptLock)},
		{
			ID: "script-watchdog", Doc: "the same with a watchdog that compares the token before it renews, and tells the holder when the lock is lost", Right: true,
			promises: func(c *history.Claims, _ int) { c.Renews = true },
			bind:     of(scriptWatchdog),
		},
		{ID: "script-telling", Doc: "scripts that reply {success, remaining TTL}", Right: true, bind: of(scriptTelling)},
		{
			ID: "go-zero", Doc: "the scripts of go-zero's RedisLock, with a new handle for each attempt: the TTL is the lease in whole seconds plus half a second", Right: true,
			promises: goZeroLives, bind: of(goZero),
		},
		{
			ID: "go-zero-one-handle", Doc: "the same with one handle, and thus one id, for all attempts of a client: a late release ends the client's next lease",
			promises: goZeroLives, bind: of(goZeroOneHandle),
		},
		{ID: "grants-everybody", Doc: "the script that takes the lock does not check that it is free", bind: of(grantsEverybody)},
	}
}

func scriptLock(l lease) locks.Lock {
	return steps{l.take(obtain, l.key), l.unlock}
}

func grantsEverybody(l lease) locks.Lock {
	return steps{l.take(takeAnyway, l.key), l.unlock}
}

func scriptTelling(l lease) locks.Lock {
	answer := func(reply *redis.Cmd, no error) error {
		v, err := reply.Int64Slice()
		switch {
		case err != nil:
			return fmt.Errorf("ask for %q: %w", l.key, err)
		case v[0] == 0:
			return no
		}
		return nil
	}
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			token, err := l.c.Token()
			if err != nil {
				return locks.Lease{}, err
			}
			return locks.Lease{Token: token}, answer(obtainTelling.Run(ctx, l.node(), []string{l.key}, token, l.life()), locks.ErrBusy)
		},
		func(ctx context.Context, held locks.Lease) error {
			return answer(releaseTelling.Run(ctx, l.node(), []string{l.key}, held.Token), locks.ErrNotHeld)
		},
	}
}

// goZeroLife is the TTL of the key: the library rounds up to whole seconds and adds its
// tolerance.
func goZeroLife(ttl time.Duration) time.Duration {
	return (ttl + time.Second - 1).Truncate(time.Second) + 500*time.Millisecond
}

func goZeroLives(c *history.Claims, _ int) {
	c.Recovery = goZeroLife(c.TTL)
}

func goZero(l lease) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			return l.attempt(func(id string) *redis.Cmd {
				return goZeroLock.Run(ctx, l.node(), []string{l.key}, id, milliseconds(goZeroLife(l.ttl)))
			})
		},
		l.drop(goZeroUnlock, l.key),
	}
}

func goZeroOneHandle(l lease) locks.Lock {
	id, err := l.c.Token()
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			if err != nil {
				return locks.Lease{}, err
			}
			reply := goZeroLock.Run(ctx, l.node(), []string{l.key}, id, milliseconds(goZeroLife(l.ttl)))
			return locks.Lease{Token: id}, granted(reply)
		},
		goZero(l).Unlock,
	}
}

// scriptWatchdog is scriptLock with a renewal every third of the lease.
func scriptWatchdog(l lease) locks.Lock {
	return watched(l, scriptLock(l), func(ctx context.Context, held *locks.Lease, asked time.Time) {
		held.LostC = l.watch(ctx, held.Token, asked.Add(l.ttl))
	})
}

// watch renews the lease until the context ends. It closes the returned channel when a renewal
// finds that the key is lost, or when the key may have expired. Before the first answered renewal,
// the key may expire at the time that the parameter until gives; later, a TTL after the last
// answered renewal was sent.
func (l lease) watch(ctx context.Context, token string, until time.Time) <-chan struct{} {
	lost := make(chan struct{})
	lose := sync.OnceFunc(func() { close(lost) })
	over := time.AfterFunc(time.Until(until), lose)
	go func() {
		defer over.Stop()
		every(ctx, l.ttl/3, func() {
			sent := time.Now()
			switch err := l.renew(ctx, token); {
			case errors.Is(err, locks.ErrNotHeld):
				lose()
			case err == nil:
				over.Reset(time.Until(sent.Add(l.ttl)))
			}
		})
	}()
	return lost
}

func (l lease) renew(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, l.ttl/4)
	defer cancel()
	return released(refresh.Run(ctx, l.node(), []string{l.key}, token, l.life()))
}
