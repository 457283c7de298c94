package strangers

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// The scripts of a lock whose commands do not name the key: the scripts compute its name from
// ARGV[1], the name of the lock. ARGV[2] is the token, ARGV[3] the TTL in milliseconds.
var (
	obtainNamed  = redis.NewScript(`return redis.call('set', 'lock:' .. ARGV[1], ARGV[2], 'NX', 'PX', ARGV[3])`)
	releaseNamed = redis.NewScript(`
local key = 'lock:' .. ARGV[1]
if redis.call('get', key) == ARGV[2] then
  return redis.call('del', key)
end
return 0`)
)

// obtainOnRecord takes the key if it is free. It records the asking client even if it refuses.
// KEYS[1] is the lock, KEYS[2] the record; ARGV[1] is the token, ARGV[2] the TTL in milliseconds.
var obtainOnRecord = redis.NewScript(`
redis.call('set', KEYS[2], ARGV[1])
return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`)

// leave shortens the key's TTL to ARGV[2] milliseconds, or deletes the key if ARGV[2] is 0.
// KEYS[1] is the lock; ARGV[1] is the token.
var leave = redis.NewScript(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
if tonumber(ARGV[2]) > 0 then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return redis.call('del', KEYS[1])`)

// secondKeys are locks with a second key, and locks whose commands do not name the key.
func secondKeys() []Stranger {
	return []Stranger{
		{ID: "permit-left", Doc: "a counter of two free permits: DECR takes a permit, INCR returns it; the permit of a dead owner is lost",
			promises: func(c *history.Claims, _ int) { c.Permits, c.Recovery = permits, 0 }, bind: of(countDown)},
		{ID: "script-named", Doc: "a script computes the key's name from the lock's name", Right: true, bind: of(scriptNamed)},
		{ID: "last-asker", Doc: "a second key records the last client that asked; every attempt overwrites it", Right: true, bind: of(lastAsker)},
		{ID: "last-owner", Doc: "each owner writes its name to a second key, and nobody removes that key", Right: true, bind: of(lastOwner)},
		{ID: "at-least-for", Doc: "ShedLock's lockAtLeastFor: the key stays for a minimum time, even after an earlier release", Right: true,
			// A waiting client may have to wait for several of these keys in turn.
			promises: func(c *history.Claims, _ int) { c.Recovery += 3 * leastFor },
			bind:     of(atLeastFor)},
	}
}

func countDown(l lease) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			if err := l.node().SetNX(ctx, l.key, permits, 0).Err(); err != nil {
				return locks.Lease{}, err
			}
			left, err := l.node().Decr(ctx, l.key).Result()
			if err != nil || left >= 0 {
				return locks.Lease{}, err
			}
			if err := l.node().Incr(ctx, l.key).Err(); err != nil {
				return locks.Lease{}, err
			}
			return locks.Lease{}, locks.ErrBusy
		},
		func(ctx context.Context, _ locks.Lease) error { return l.node().Incr(ctx, l.key).Err() },
	}
}

func scriptNamed(l lease) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			return l.attempt(func(token string) *redis.Cmd { return obtainNamed.Run(ctx, l.node(), nil, l.key, token, l.life()) })
		},
		func(ctx context.Context, held locks.Lease) error {
			return released(releaseNamed.Run(ctx, l.node(), nil, l.key, held.Token))
		},
	}
}

func lastAsker(l lease) locks.Lock {
	return steps{l.take(obtainOnRecord, l.key, l.key+":last"), l.unlock}
}

func lastOwner(l lease) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			held, err := scriptLock(l).TryLock(ctx)
			if err != nil {
				return held, err
			}
			return held, l.node().Set(ctx, l.key+":owner", l.c.ID, 0).Err()
		},
		l.unlock,
	}
}

// leastFor is the minimum time for which a key stays after its acquire, even if the client releases
// the lock earlier.
const leastFor = 200 * time.Millisecond

func atLeastFor(l lease) locks.Lock {
	var mu sync.Mutex
	since := map[string]time.Time{} // when the attempt began, by its token
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			asked := time.Now()
			held, err := scriptLock(l).TryLock(ctx)
			mu.Lock()
			defer mu.Unlock()
			since[held.Token] = asked
			return held, err
		},
		func(ctx context.Context, held locks.Lease) error {
			mu.Lock()
			rest := leastFor - time.Since(since[held.Token])
			mu.Unlock()
			return released(leave.Run(ctx, l.node(), []string{l.key}, held.Token, max(0, milliseconds(rest))))
		},
	}
}
