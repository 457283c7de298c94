package strangers

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// lives are locks whose keys have another TTL than the requested lease.
func lives() []Stranger {
	extends := func(c *history.Claims, _ int) { c.Extends = true }
	return []Stranger{
		{ID: "half-life", Doc: "SET NX PX with half of the lease as TTL", bind: of(living(func(ttl time.Duration) time.Duration { return ttl / 2 }))},
		{ID: "nine-tenths-life", Doc: "SET NX PX with nine tenths of the lease as TTL", bind: of(living(func(ttl time.Duration) time.Duration { return ttl / 10 * 9 }))},
		{ID: "extended-by-more", Doc: "the extension adds a lease to what is left of the last one", promises: extends, bind: of(extending(addLease))},
		{ID: "extended-anew", Doc: "the extension sets the key's TTL to a lease", Right: true, promises: extends, bind: of(extending(newLease))},
	}
}

func living(life func(ttl time.Duration) time.Duration) func(l lease) locks.Lock {
	return func(l lease) locks.Lock {
		l.ttl = life(l.ttl)
		return steps{l.set, l.unlock}
	}
}

// extendable is a lock whose lease a script prolongs.
type extendable struct {
	steps
	lease
	script *redis.Script
}

// Extend implements locks.Extender.
func (e extendable) Extend(ctx context.Context, held locks.Lease) (locks.Lease, error) {
	return held, released(e.script.Run(ctx, e.node(), []string{e.key}, held.Token, e.life()))
}

func extending(script *redis.Script) func(l lease) locks.Lock {
	return func(l lease) locks.Lock { return extendable{steps{l.set, l.unlock}, l, script} }
}

var newLease = redis.NewScript(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`)

var addLease = redis.NewScript(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[2])`)
