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

var hashLeave = newScript("hash-leave", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
  return nil
end
if redis.call("HINCRBY", KEYS[1], ARGV[1], -1) == 0 then
  redis.call("DEL", KEYS[1])
  return 1
end
return 0`)

// Scripts with a mistake.
var (
	hashEnterAnyone  = hashEnter.but(`redis.call("EXISTS", KEYS[1]) == 0`, "true")
	hashEnterForever = hashEnter.but(`redis.call("EXPIRE", KEYS[1], ARGV[2])`, "")
	hashLeaveAtOnce  = hashLeave.but("-1) == 0", "-1) >= 0")
	hashLeaveNever   = hashLeave.but("-1) == 0", "-1) < 0")
	hashLeaveUnasked = hashLeave.but(`redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0`, "false")
)

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

// hashLock is a client's handle on the good recipe, whose owner, scripts or steps a mutant replaces.
type hashLock struct {
	hash
	enterBy, leaveBy *script
	steps
}

// hashes returns the mutants of reentrant-hash.
func hashes() []Mutant {
	mutant := family("reentrant-hash", func(c *locks.Client, key string, ttl time.Duration) *hashLock {
		l := &hashLock{hash: hash{c, key, c.ID, ttl}, enterBy: hashEnter, leaveBy: hashLeave}
		l.acquire = func(ctx context.Context) (locks.Lease, error) { return l.enter(ctx, l.enterBy) }
		l.release = func(ctx context.Context, _ locks.Lease) error {
			_, err := l.leave(ctx, l.leaveBy)
			return err
		}
		return l
	}, hashEnter, hashLeave)
	enters := func(id, doc string, by *script) Mutant {
		return mutant(id, doc, func(l *hashLock) { l.enterBy = by }, by)
	}
	leaves := func(id, doc string, by *script) Mutant {
		return mutant(id, doc, func(l *hashLock) { l.leaveBy = by }, by)
	}
	return []Mutant{
		enters("entry-by-another-owner", "the entry does not check which owner has the field", hashEnterAnyone),
		enters("entry-without-life", "the key gets no life", hashEnterForever),
		mutant("owner-shared", "all clients are one owner", func(l *hashLock) { l.owner = "owner" }),
		leaves("release-of-all-levels", "the first release frees the lock, however often it was entered", hashLeaveAtOnce),
		leaves("release-one-level-short", "the last release does not free the lock", hashLeaveNever),
		leaves("release-without-owner", "the release does not check that the owner has entered", hashLeaveUnasked),
		mutant("release-retried-after-unknown", "a release of unknown outcome is sent again, and leaves twice", func(l *hashLock) {
			l.release = func(ctx context.Context, _ locks.Lease) error {
				_, err := l.leave(ctx, hashLeave)
				if err != nil && !errors.Is(err, locks.ErrNotHeld) && ctx.Err() == nil {
					_, err = l.leave(ctx, hashLeave)
				}
				return err
			}
		}),
	}
}
