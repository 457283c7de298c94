package strangers

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// overwriting are locks in which refused or later clients overwrite the holder's data: by
// mistake, or because the lease has ended.
func overwriting() []Stranger {
	renews := func(c *history.Claims, _ int) { c.Renews = true }
	return []Stranger{
		{ID: "number-overwritten", Doc: "the value is a ticket; a refused client overwrites it with its own ticket", bind: of(numberOverwritten)},
		{ID: "worker-number", Doc: "a script writes the worker's number to the key, even if another worker holds the lock", bind: of(workerNumber)},
		{ID: "fence-overwritten", Doc: "the value is the fence, and every attempt overwrites it with a new fence",
			promises: func(c *history.Claims, _ int) { c.Fenced = true }, bind: of(fenceOverwritten)},
		{ID: "constant-overwritten", Doc: "SET of a constant without NX: every attempt gets the lock, and the release does nothing", bind: of(constantOverwritten)},
		{ID: "owner-overwritten", Doc: "a refused client overwrites the owner's token; a release that finds another token reports success", bind: of(ownerOverwritten)},
		{ID: "count-prolonged", Doc: "the lock is a counter; every attempt renews its TTL, even a refused one", bind: of(countProlonged)},
		{ID: "renamed", Doc: "RENAMENX of the client's own key to the lock's key", Right: true, bind: of(renamed)},
		{ID: "reaped", Doc: "a sorted set; a reaper in each client removes members whose lease has ended by the node's clock", Right: true, bind: of(reaped)},
		{ID: "field-renewed", Doc: "a hash with the end of the lease, which a watchdog renews", Right: true, promises: renews, bind: of(byField("until"))},
		{ID: "field-forgotten", Doc: "the same, but an acquire counts the lease from the grant and ignores renewals", promises: renews, bind: of(byField("since"))},
	}
}

// drawTicket draws the next number from the ticket counter and writes it to the key. It returns the
// number if the key was free, or 0 if the caller is refused. KEYS[1] is the lock, KEYS[2] the
// ticket counter; ARGV[1] is the TTL in milliseconds.
var drawTicket = redis.NewScript(`
local n = redis.call('incr', KEYS[2])
if redis.call('get', KEYS[1]) then
  redis.call('set', KEYS[1], n, 'KEEPTTL')
  return 0
end
redis.call('set', KEYS[1], n, 'PX', ARGV[1])
return n`)

func numberOverwritten(l lease) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			n, err := drawTicket.Run(ctx, l.node(), []string{l.key, l.key + ":n"}, l.life()).Int64()
			switch {
			case err != nil:
				return locks.Lease{}, err
			case n == 0:
				return locks.Lease{}, locks.ErrBusy
			}
			return locks.Lease{Token: strconv.FormatInt(n, 10)}, nil
		}, l.unlock,
	}
}

// putNumber writes the worker's number to the key, even if another worker has the lock. KEYS[1] is
// the lock; ARGV[1] is the worker's number, ARGV[2] the TTL in milliseconds.
var putNumber = redis.NewScript(`
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

func workerNumber(l lease) locks.Lock {
	id, _ := strconv.Atoi(strings.TrimPrefix(l.c.ID, "c"))
	number := strconv.Itoa(id + 1)
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			return locks.Lease{Token: number}, granted(putNumber.Run(ctx, l.node(), []string{l.key}, number, l.life()))
		}, l.unlock,
	}
}

// putFence draws the next fencing token and writes it to the key, even if another client has the
// lock. KEYS[1] is the lock, KEYS[2] the counter of fencing tokens; ARGV[1] is the TTL in
// milliseconds.
var putFence = redis.NewScript(`
local n = redis.call('incr', KEYS[2])
redis.call('set', KEYS[1], n, 'PX', ARGV[1])
return n`)

func fenceOverwritten(l lease) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			n, err := putFence.Run(ctx, l.node(), []string{l.key, l.key + ":n"}, l.life()).Int64()
			return locks.Lease{Token: strconv.FormatInt(n, 10), Fence: n}, err
		}, l.unlock,
	}
}

func constantOverwritten(l lease) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			return locks.Lease{}, l.node().Set(ctx, l.key, "1", l.ttl).Err()
		},
		func(context.Context, locks.Lease) error { return nil },
	}
}

// obtainNaming takes the lock if it is free. It writes the caller's token as the owner even if it
// refuses. releaseSilently deletes both keys if the owner is the caller, and replies 1 in any case.
// KEYS[1] is the lock, KEYS[2] its owner; ARGV[1] is the token, ARGV[2] the TTL in milliseconds.
var (
	obtainNaming = redis.NewScript(`
redis.call('set', KEYS[2], ARGV[1], 'PX', ARGV[2])
if redis.call('set', KEYS[1], '1', 'NX', 'PX', ARGV[2]) then
  return 1
end
return 0`)
	releaseSilently = redis.NewScript(`
if redis.call('get', KEYS[2]) == ARGV[1] then
  redis.call('del', KEYS[1], KEYS[2])
end
return 1`)
)

func ownerOverwritten(l lease) locks.Lock {
	keys := []string{l.key, l.key + ":owner"}
	return steps{l.take(obtainNaming, keys...), l.drop(releaseSilently, keys...)}
}

// countAndTime takes the lock if its counter was 0. It starts the counter's TTL anew even if it
// refuses. KEYS[1] is the lock, a counter; KEYS[2] is its owner; ARGV[1] is the token, ARGV[2] the
// TTL in milliseconds.
var countAndTime = redis.NewScript(`
local n = redis.call('incr', KEYS[1])
redis.call('pexpire', KEYS[1], ARGV[2])
if n > 1 then
  return 0
end
redis.call('set', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1`)

func countProlonged(l lease) locks.Lock {
	keys := []string{l.key, l.key + ":owner"}
	return steps{l.take(countAndTime, keys...), l.drop(uncountOwned, keys...)}
}

func renamed(l lease) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			token, err := l.c.Token()
			if err != nil {
				return locks.Lease{}, err
			}
			held, own := locks.Lease{Token: token}, l.key+":"+token
			if err := l.node().Set(ctx, own, token, l.ttl).Err(); err != nil {
				return held, err
			}
			first, err := l.node().RenameNX(ctx, own, l.key).Result()
			switch {
			case err != nil && strings.Contains(err.Error(), "no such key"): // the client's own key has expired
				return held, locks.ErrBusy
			case err == nil && !first:
				_ = l.node().Del(ctx, own).Err() // if the deletion fails, the key expires
				return held, locks.ErrBusy
			}
			return held, err
		}, l.unlock,
	}
}

// Scripts of a lock in a sorted set. Its only member is the holder's token; the score is the end of
// the lease by the node's clock. takeEmpty takes the lock if the set is empty. reap removes a member
// whose lease has ended.
// KEYS[1] is the lock; ARGV[1] is the token, ARGV[2] the lease in milliseconds.
var (
	takeEmpty = redis.NewScript(now + `
if redis.call('zcard', KEYS[1]) > 0 then
  return 0
end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
return 1`)
	reap = redis.NewScript(now + `return redis.call('zremrangebyscore', KEYS[1], '-inf', now - 1)`)
)

func reaped(l lease) locks.Lock {
	started := false
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			if !started {
				started = true
				go every(l.c.Context, l.ttl/20, func() {
					ctx, cancel := context.WithTimeout(l.c.Context, l.ttl/4)
					defer cancel()
					_ = reap.Run(ctx, l.node(), []string{l.key}).Err() // if this fails, the next tick tries again
				})
			}
			return l.attempt(func(token string) *redis.Cmd { return takeEmpty.Run(ctx, l.node(), []string{l.key}, token, l.life()) })
		},
		l.remove("ZREM"),
	}
}

// Scripts of a lock in a hash with the fields owner, since (the time of the grant) and until (the
// end of the lease). KEYS[1] is the lock; ARGV[1] is the token, ARGV[2] the lease in milliseconds,
// ARGV[3] the field from which takeByField computes whether the lease has ended: "since" or
// "until".
var (
	takeByField = redis.NewScript(now + `
local told = tonumber(redis.call('hget', KEYS[1], ARGV[3]) or '0')
if ARGV[3] == 'since' then
  told = told + ARGV[2]
end
if told >= now then
  return 0
end
redis.call('hset', KEYS[1], 'owner', ARGV[1], 'since', string.format('%.0f', now), 'until', string.format('%.0f', now + ARGV[2]))
return 1`)
	renewField = redis.NewScript(now + `
if redis.call('hget', KEYS[1], 'owner') ~= ARGV[1] then
  return 0
end
redis.call('hset', KEYS[1], 'until', string.format('%.0f', now + ARGV[2]))
return 1`)
	releaseFields = redis.NewScript(`
if redis.call('hget', KEYS[1], 'owner') ~= ARGV[1] then
  return 0
end
return redis.call('del', KEYS[1])`)
)

// byField returns a lock with a watchdog. The field is "until", the end of the lease, or "since",
// its start: an acquire computes from this field whether the lease has ended. Renewals change only
// "until".
func byField(field string) func(lease) locks.Lock {
	return func(l lease) locks.Lock {
		inner := steps{func(ctx context.Context) (locks.Lease, error) {
			return l.attempt(func(token string) *redis.Cmd {
				return takeByField.Run(ctx, l.node(), []string{l.key}, token, l.life(), field)
			})
		}, l.drop(releaseFields, l.key)}
		return watched(l, inner, func(ctx context.Context, held *locks.Lease, _ time.Time) {
			ctx, quit := context.WithCancel(ctx)
			token, lost := held.Token, make(chan struct{})
			held.LostC = lost
			go every(ctx, l.ttl/3, func() {
				limited, cancel := context.WithTimeout(ctx, l.ttl/4)
				defer cancel()
				err := released(renewField.Run(limited, l.node(), []string{l.key}, token, l.life()))
				if errors.Is(err, locks.ErrNotHeld) && ctx.Err() == nil {
					quit()
					close(lost)
				}
			})
		})
	}
}
