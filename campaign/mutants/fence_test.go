package mutants

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

// fencedEnter is the good script: it grants the lock and returns the fencing token, or returns 0 if the
// lock is busy. KEYS[1] is the lock, KEYS[2] the counter of fencing tokens; ARGV[1] is the owner token,
// ARGV[2] the TTL in milliseconds. Each of the other scripts has one mistake.
var (
	fencedEnter = newScript("fenced-enter", `
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  return redis.call("INCR", KEYS[2])
end
return 0`)
	fencedEnterConstant  = fencedEnter.but(`return redis.call("INCR", KEYS[2])`, `return redis.call("SET", KEYS[2], 1) and 1`)
	fencedEnterForgetful = fencedEnter.but(`return redis.call("INCR", KEYS[2])`, `local fence = redis.call("INCR", KEYS[2])
  redis.call("PEXPIRE", KEYS[2], ARGV[2])
  return fence`)
	fencedEnterBackwards = fencedEnter.but(`redis.call("INCR", KEYS[2])`, `1000000 + redis.call("DECR", KEYS[2])`)
	fencedLeaveAll       = newScript("fenced-leave", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  redis.call("DEL", KEYS[2])
  return redis.call("DEL", KEYS[1])
end
return 0`)
)

// fenced is the good recipe "fenced", written anew so that its scripts can be replaced.
type fenced struct {
	c   *locks.Client
	key string
	ttl time.Duration
}

func (l fenced) keys() []string { return []string{l.key, l.key + ":fence"} }

// tryLock makes one attempt by the script s. The lease's deadline is one TTL after the request.
func (l fenced) tryLock(ctx context.Context, s *script) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	asked := l.c.Now()
	fence, err := s.run.Run(ctx, l.c.Nodes[0], l.keys(), token, milliseconds(l.ttl)).Int64()
	if err == nil && fence == 0 {
		err = locks.ErrBusy
	}
	return locks.Lease{Token: token, Fence: fence, Deadline: asked.Add(l.ttl)}, err
}

func (l fenced) unlock(ctx context.Context, s *script, lease locks.Lease) error {
	return notHeld(s.run.Run(ctx, l.c.Nodes[0], l.keys(), lease.Token))
}

// fencedLock is a client's handle on the good recipe, whose scripts or acquire a mutant replaces.
type fencedLock struct {
	fenced
	enter, leave *script
	steps
}

// fences returns the mutants of fenced.
func fences() []Mutant {
	mutant := family("fenced", func(c *locks.Client, key string, ttl time.Duration) *fencedLock {
		l := &fencedLock{fenced: fenced{c, key, ttl}, enter: fencedEnter, leave: compareAndDelete}
		l.acquire = func(ctx context.Context) (locks.Lease, error) { return l.tryLock(ctx, l.enter) }
		l.release = func(ctx context.Context, lease locks.Lease) error { return l.unlock(ctx, l.leave, lease) }
		return l
	}, fencedEnter, compareAndDelete)
	enters := func(id, doc string, by *script) Mutant {
		return mutant(id, doc, func(l *fencedLock) { l.enter = by }, by)
	}
	extension := family("fenced", func(c *locks.Client, key string, ttl time.Duration) *extender {
		return &extender{fenced{c, key, ttl}, extendOwn}
	}, fencedEnter, compareAndDelete, extendOwn)("extension-without-owner", "the extension prolongs the key, even another client's key",
		func(l *extender) { l.script = extendAnyone }, extendAnyone)
	extension.extends = true
	return []Mutant{
		extension,
		enters("fence-not-increasing", "every grant gets the same fence", fencedEnterConstant),
		enters("fence-decreasing", "every grant gets a smaller fence", fencedEnterBackwards),
		enters("fence-expires", "the counter of fences expires with the lock and starts again", fencedEnterForgetful),
		mutant("fence-reset-on-release", "the release removes the counter of fences too", func(l *fencedLock) { l.leave = fencedLeaveAll }, fencedLeaveAll),
		mutant("fence-counted-by-client", "each client counts fences for itself", func(l *fencedLock) {
			var count atomic.Int64
			l.acquire = func(ctx context.Context) (locks.Lease, error) {
				lease, err := l.tryLock(ctx, fencedEnter)
				lease.Fence = count.Add(1)
				return lease, err
			}
		}),
		mutant("fence-drawn-before-the-lock", "the fence is drawn by a command before the one that grants the lock", func(l *fencedLock) {
			l.acquire = l.drawFirst
		}),
		mutant("deadline-counted-from-the-reply", "the lease is claimed for a TTL from the reply, not from the request", func(l *fencedLock) {
			l.acquire = func(ctx context.Context) (locks.Lease, error) {
				lease, err := l.tryLock(ctx, fencedEnter)
				lease.Deadline = l.c.Now().Add(l.ttl)
				return lease, err
			}
		}),
	}
}

// extendOwn is the good extension, extendAnyone has a mistake. KEYS[1] is the lock, ARGV[1] the owner token,
// ARGV[2] the TTL in milliseconds.
var (
	extendOwn = newScript("extend", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)
	extendAnyone = newScript("extend", `return redis.call("PEXPIRE", KEYS[1], ARGV[2])`)
)

// extender is the good lock, which can extend its leases.
type extender struct {
	fenced
	script *script
}

// TryLock implements locks.Lock.
func (l *extender) TryLock(ctx context.Context) (locks.Lease, error) {
	return l.tryLock(ctx, fencedEnter)
}

// Unlock implements locks.Lock.
func (l *extender) Unlock(ctx context.Context, lease locks.Lease) error {
	return l.unlock(ctx, compareAndDelete, lease)
}

// Extend implements locks.Extender.
func (l *extender) Extend(ctx context.Context, lease locks.Lease) (locks.Lease, error) {
	asked := l.c.Now()
	err := notHeld(l.script.run.Run(ctx, l.c.Nodes[0], l.keys()[:1], lease.Token, milliseconds(l.ttl)))
	if err == nil {
		lease.Deadline = asked.Add(l.ttl)
	}
	return lease, err
}

// drawFirst is a mistaken acquire: it draws the fencing token before it asks for the lock, so a
// client may get an older token than an earlier holder.
func (l fenced) drawFirst(ctx context.Context) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	fence, err := l.c.Nodes[0].Incr(ctx, l.key+":fence").Result()
	if err != nil {
		return locks.Lease{}, err
	}
	asked := l.c.Now()
	err = l.c.Nodes[0].Do(ctx, "SET", l.key, token, "NX", "PX", milliseconds(l.ttl)).Err()
	if errors.Is(err, redis.Nil) {
		err = locks.ErrBusy
	}
	return locks.Lease{Token: token, Fence: fence, Deadline: asked.Add(l.ttl)}, err
}
