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

// Scripts with a mistake.
var (
	hashRenewAnyone       = hashRenew.but(`redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1`, "true")
	hashRenewMilliseconds = hashRenew.but("EXPIRE", "PEXPIRE")
	hashRenewOrEnter      = newScript("hash-renew", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
  redis.call("HSET", KEYS[1], ARGV[1], 1)
end
redis.call("EXPIRE", KEYS[1], ARGV[2])
return 1`)
)

// habit says how a watchdog renews. The good watchdog renews with hashRenew every third of the lease,
// until the field is gone or the lock is released.
type habit struct {
	renew    *script
	interval time.Duration
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
	ticker := time.NewTicker(l.interval)
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
	mutant := family("reentrant-hash-watchdog", func(c *locks.Client, key string, ttl time.Duration) *watched {
		return &watched{hash: hash{c, key, c.ID, ttl}, habit: habit{renew: hashRenew, interval: ttl / 3}}
	}, hashEnter, hashLeave, hashRenew)
	renews := func(id, doc string, by *script) Mutant {
		return mutant(id, doc, func(l *watched) { l.renew = by }, by)
	}
	return []Mutant{
		renews("renewal-without-owner", "the renewal prolongs the key, even another client's key", hashRenewAnyone),
		renews("renewal-in-milliseconds", "the renewal sends seconds as milliseconds", hashRenewMilliseconds),
		renews("renewal-creates", "the renewal makes the key again if it is gone", hashRenewOrEnter),
		mutant("renewal-too-late", "the renewal comes after more than the lease", func(l *watched) { l.interval = l.ttl + l.ttl/10 }),
		mutant("renewal-only-once", "the watchdog ends after its first renewal", func(l *watched) { l.once = true }),
		mutant("watchdog-ends-at-an-inner-release", "the first release ends the watchdog, though the lock is still held", func(l *watched) { l.hasty = true }),
		mutant("watchdog-outlives-release", "nothing ends the watchdog, which renews the key even if another client holds it", func(l *watched) {
			l.renew, l.undying = hashRenewAnyone, true
		}, hashRenewAnyone),
	}
}
