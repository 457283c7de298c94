package mutants

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

var hashRenew = newScript("hash-renew", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then
  return redis.call("EXPIRE", KEYS[1], ARGV[2])
end
return 0`)

var hashRenewAnyone = newScript("hash-renew", `return redis.call("EXPIRE", KEYS[1], ARGV[2])`)

var hashRenewMilliseconds = newScript("hash-renew", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)

var hashRenewOrEnter = newScript("hash-renew", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
  redis.call("HSET", KEYS[1], ARGV[1], 1)
end
redis.call("EXPIRE", KEYS[1], ARGV[2])
return 1`)

// habit says how a watchdog renews. The good watchdog renews with hashRenew every third of the lease,
// until the field is gone or the lock is released.
type habit struct {
	renew    *script
	interval func(ttl time.Duration) time.Duration
	once     bool // the watchdog ends after its first renewal
	// undying says that neither a release nor a missing field ends the watchdog.
	undying bool
	// hasty says that any release ends the watchdog, even one that leaves the lock held.
	hasty bool
}

// watched is the good recipe reentrant-hash-watchdog, written anew so that its habit can be replaced.
type watched struct {
	hash
	habit

	mu   sync.Mutex
	quit chan struct{} // ends the running watchdog; nil = none runs
}

// TryLock implements locks.Lock.
func (l *watched) TryLock(ctx context.Context) (locks.Lease, error) {
	lease, err := l.enter(ctx, hashEnter)
	if err != nil {
		return lease, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quit == nil {
		l.quit = make(chan struct{})
		go l.watch(l.quit)
	}
	return lease, nil
}

// watch renews the lease until quit is closed, the client process ends or the habit ends it.
func (l *watched) watch(quit chan struct{}) {
	ticker := time.NewTicker(l.interval(l.ttl))
	defer ticker.Stop()
	defer l.end(quit)
	for {
		select {
		case <-l.c.Context.Done():
			return
		case <-quit:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(l.c.Context, l.ttl/3)
		n, err := l.renew.one(ctx, l.c.Nodes[0], l.key, l.owner, seconds(l.ttl)).Int64()
		cancel()
		if l.once || err == nil && n == 0 && !l.undying {
			return
		}
	}
}

// end closes quit if quit belongs to the running watchdog. If the watchdog of quit has ended, or quit
// is nil, end does nothing.
func (l *watched) end(quit chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if quit != nil && l.quit == quit {
		close(quit)
		l.quit = nil
	}
}

// Unlock implements locks.Lock.
func (l *watched) Unlock(ctx context.Context, _ locks.Lease) error {
	last, err := l.leave(ctx, hashLeave)
	if (last || l.hasty || errors.Is(err, locks.ErrNotHeld)) && !l.undying {
		l.mu.Lock()
		quit := l.quit
		l.mu.Unlock()
		l.end(quit)
	}
	return err
}

// watchdogs returns the mutants of reentrant-hash-watchdog.
func watchdogs() []Mutant {
	third := func(ttl time.Duration) time.Duration { return ttl / 3 }
	mutant := func(id, doc string, h habit) Mutant {
		lock := func(h habit) maker {
			return func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
				return &watched{hash: hash{c, key, c.ID, ttl}, habit: h}, nil
			}
		}
		return Mutant{ID: "mutant-" + id, Of: "reentrant-hash-watchdog", Doc: doc, scripts: unique(hashEnter, hashLeave, h.renew, hashRenew),
			lock: lock(h), control: lock(habit{renew: hashRenew, interval: third})}
	}
	return []Mutant{
		mutant("renewal-without-owner", "the renewal prolongs the key, even another client's key", habit{renew: hashRenewAnyone, interval: third}),
		mutant("renewal-in-milliseconds", "the renewal sends seconds as milliseconds", habit{renew: hashRenewMilliseconds, interval: third}),
		mutant("renewal-creates", "the renewal makes the key again if it is gone", habit{renew: hashRenewOrEnter, interval: third}),
		mutant("renewal-too-late", "the renewal comes after more than the lease",
			habit{renew: hashRenew, interval: func(ttl time.Duration) time.Duration { return ttl + ttl/10 }}),
		mutant("renewal-only-once", "the watchdog ends after its first renewal", habit{renew: hashRenew, interval: third, once: true}),
		mutant("watchdog-ends-at-an-inner-release", "the first release ends the watchdog, though the lock is still held",
			habit{renew: hashRenew, interval: third, hasty: true}),
		mutant("watchdog-outlives-release", "nothing ends the watchdog, which renews the key even if another client holds it",
			habit{renew: hashRenewAnyone, interval: third, undying: true}),
	}
}
