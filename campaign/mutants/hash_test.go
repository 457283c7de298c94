package mutants

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

var hashEnter = newScript("hash-enter", `
if redis.call("EXISTS", KEYS[1]) == 0 or redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then
  redis.call("HINCRBY", KEYS[1], ARGV[1], 1)
  redis.call("EXPIRE", KEYS[1], ARGV[2])
  return 1
end
return 0`)

var hashEnterAnyone = newScript("hash-enter", `
redis.call("HINCRBY", KEYS[1], ARGV[1], 1)
redis.call("EXPIRE", KEYS[1], ARGV[2])
return 1`)

var hashEnterForever = newScript("hash-enter", `
if redis.call("EXISTS", KEYS[1]) == 0 or redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then
  redis.call("HINCRBY", KEYS[1], ARGV[1], 1)
  return 1
end
return 0`)

var hashLeave = newScript("hash-leave", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
  return nil
end
if redis.call("HINCRBY", KEYS[1], ARGV[1], -1) == 0 then
  redis.call("DEL", KEYS[1])
  return 1
end
return 0`)

var hashLeaveAtOnce = newScript("hash-leave", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
  return nil
end
redis.call("DEL", KEYS[1])
return 1`)

var hashLeaveNever = newScript("hash-leave", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
  return nil
end
if redis.call("HINCRBY", KEYS[1], ARGV[1], -1) < 0 then
  redis.call("DEL", KEYS[1])
  return 1
end
return 0`)

var hashLeaveUnasked = newScript("hash-leave", `
if redis.call("HINCRBY", KEYS[1], ARGV[1], -1) == 0 then
  redis.call("DEL", KEYS[1])
  return 1
end
return 0`)

// hash is the good recipe reentrant-hash, written anew: a hash with a field for the owner, whose value
// is the owner's number of entries.
type hash struct {
	c     *locks.Client
	key   string
	owner string
	ttl   time.Duration
}

// enter adds an entry by the script s, which replies 0 if another owner has the lock.
func (l hash) enter(ctx context.Context, s *script) (locks.Lease, error) {
	err := notHeld(s.one(ctx, l.c.Nodes[0], l.key, l.owner, seconds(l.ttl)))
	if errors.Is(err, locks.ErrNotHeld) {
		err = locks.ErrBusy
	}
	return locks.Lease{Token: l.owner}, err
}

// leave removes one entry by the script s, and reports whether it was the owner's last.
func (l hash) leave(ctx context.Context, s *script) (last bool, err error) {
	n, err := s.one(ctx, l.c.Nodes[0], l.key, l.owner).Int64()
	if errors.Is(err, redis.Nil) {
		err = locks.ErrNotHeld
	}
	return n == 1, err
}

// hashes returns the mutants of reentrant-hash.
func hashes() []Mutant {
	owned := func(c *locks.Client) string { return c.ID }
	lock := func(owner func(*locks.Client) string, enter, leave *script) maker {
		return func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
			l := hash{c, key, owner(c), ttl}
			return steps{
				func(ctx context.Context) (locks.Lease, error) { return l.enter(ctx, enter) },
				func(ctx context.Context, _ locks.Lease) error {
					_, err := l.leave(ctx, leave)
					return err
				},
			}, nil
		}
	}
	mutant := func(id, doc string, owner func(*locks.Client) string, enter, leave *script) Mutant {
		return Mutant{ID: "mutant-" + id, Of: "reentrant-hash", Doc: doc, scripts: unique(enter, leave, hashEnter, hashLeave),
			lock: lock(owner, enter, leave), control: lock(owned, hashEnter, hashLeave)}
	}
	again := mutant("release-retried-after-unknown", "a release of unknown outcome is sent again, and leaves twice", owned, hashEnter, hashLeave)
	again.lock = func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
		l := hash{c, key, owned(c), ttl}
		return steps{
			func(ctx context.Context) (locks.Lease, error) { return l.enter(ctx, hashEnter) },
			func(ctx context.Context, _ locks.Lease) error {
				_, err := l.leave(ctx, hashLeave)
				if err != nil && !errors.Is(err, locks.ErrNotHeld) && ctx.Err() == nil {
					_, err = l.leave(ctx, hashLeave)
				}
				return err
			},
		}, nil
	}
	return []Mutant{
		mutant("entry-by-another-owner", "the entry does not check which owner has the field", owned, hashEnterAnyone, hashLeave),
		mutant("entry-without-life", "the key gets no life", owned, hashEnterForever, hashLeave),
		mutant("owner-shared", "all clients are one owner", func(*locks.Client) string { return "owner" }, hashEnter, hashLeave),
		mutant("release-of-all-levels", "the first release frees the lock, however often it was entered", owned, hashEnter, hashLeaveAtOnce),
		mutant("release-one-level-short", "the last release does not free the lock", owned, hashEnter, hashLeaveNever),
		mutant("release-without-owner", "the release does not check that the owner has entered", owned, hashEnter, hashLeaveUnasked),
		again,
	}
}
