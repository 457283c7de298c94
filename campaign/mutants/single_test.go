package mutants

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

var compareAndDelete = newScript("compare-and-delete", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`)

// single is the good recipe set-nx-px, written anew: SET key token NX PX ms, and a compare-and-delete.
type single struct {
	c   *locks.Client
	key string
	ttl time.Duration
}

func (l single) node() locks.Node { return l.c.Nodes[0] }

// set sends SET key token with the given options. It returns ErrBusy if the reply is nil.
func (l single) set(ctx context.Context, token string, options ...any) (locks.Lease, error) {
	err := l.node().Do(ctx, append([]any{"SET", l.key, token}, options...)...).Err()
	if errors.Is(err, redis.Nil) {
		err = locks.ErrBusy
	}
	return locks.Lease{Token: token}, err
}

// tryLock is the acquire of the good recipe.
func (l single) tryLock(ctx context.Context) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	return l.set(ctx, token, "NX", "PX", milliseconds(l.ttl))
}

// unlock is the release of the good recipe.
func (l single) unlock(ctx context.Context, lease locks.Lease) error {
	return notHeld(compareAndDelete.one(ctx, l.node(), l.key, lease.Token))
}

// notHeld reads a reply that counts changed keys or fields. It returns ErrNotHeld if the count is 0.
func notHeld(reply *redis.Cmd) error {
	n, err := reply.Int64()
	if err == nil && n == 0 {
		return locks.ErrNotHeld
	}
	return err
}

// singleLock is a client's handle on the good recipe, whose steps a mutant replaces.
type singleLock struct {
	single
	steps
}

// singles returns the mutants of set-nx-px.
func singles() []Mutant {
	mutant := family("set-nx-px", func(c *locks.Client, key string, ttl time.Duration) *singleLock {
		l := single{c, key, ttl}
		return &singleLock{l, steps{l.tryLock, l.unlock}}
	}, compareAndDelete)
	// settings returns a mistake: the acquire sends other options than NX PX ms.
	settings := func(options func(l *singleLock) []any) func(*singleLock) {
		return func(l *singleLock) {
			l.acquire = func(ctx context.Context) (locks.Lease, error) {
				token, err := l.c.Token()
				if err != nil {
					return locks.Lease{}, err
				}
				return l.set(ctx, token, options(l)...)
			}
		}
	}
	// token returns a mistake: all attempts of a handle have one token, which comes from make. The
	// good recipe draws a token for each attempt.
	token := func(make func(l *singleLock) string) func(*singleLock) {
		return func(l *singleLock) {
			t := make(l)
			l.acquire = func(ctx context.Context) (locks.Lease, error) {
				return l.set(ctx, t, "NX", "PX", milliseconds(l.ttl))
			}
		}
	}
	return []Mutant{
		mutant("release-without-compare", "the release deletes the key, even another client's key", func(l *singleLock) {
			l.release = func(ctx context.Context, _ locks.Lease) error { return notHeld(l.node().Do(ctx, "DEL", l.key)) }
		}),
		mutant("compare-without-atomicity", "the release compares in one command and deletes in another", func(l *singleLock) {
			l.release = func(ctx context.Context, lease locks.Lease) error {
				switch got, err := l.node().Get(ctx, l.key).Result(); {
				case errors.Is(err, redis.Nil), err == nil && got != lease.Token:
					return locks.ErrNotHeld
				case err != nil:
					return err
				}
				return notHeld(l.node().Do(ctx, "DEL", l.key))
			}
		}),
		mutant("release-of-nothing", "the release compares with a value that the key never holds, so it never deletes the key", func(l *singleLock) {
			l.release = func(ctx context.Context, lease locks.Lease) error {
				return notHeld(compareAndDelete.one(ctx, l.node(), l.key, lease.Token+"\n"))
			}
		}),
		mutant("life-in-seconds-for-milliseconds", "the lease time in seconds is sent as milliseconds",
			settings(func(l *singleLock) []any { return []any{"NX", "PX", seconds(l.ttl)} })),
		mutant("life-in-milliseconds-for-seconds", "the lease time in milliseconds is sent as seconds",
			settings(func(l *singleLock) []any { return []any{"NX", "EX", milliseconds(l.ttl)} })),
		mutant("life-forgotten", "the key gets no life", settings(func(*singleLock) []any { return []any{"NX"} })),
		mutant("set-whatever-is-there", "the SET has no NX", settings(func(l *singleLock) []any { return []any{"PX", milliseconds(l.ttl)} })),
		mutant("life-in-a-second-command", "the key's life is set by a command of its own", func(l *singleLock) {
			l.acquire = func(ctx context.Context) (locks.Lease, error) {
				token, err := l.c.Token()
				if err != nil {
					return locks.Lease{}, err
				}
				lease, err := l.set(ctx, token, "NX")
				if err != nil {
					return lease, err
				}
				return lease, l.node().Do(ctx, "PEXPIRE", l.key, milliseconds(l.ttl)).Err()
			}
		}),
		mutant("token-reused", "the token is drawn once per handle, not per attempt", token(func(l *singleLock) string {
			t, _ := l.c.Token() // an error would make the token empty, which serves as well
			return t
		})),
		mutant("token-shared", "all clients use one token", token(func(*singleLock) string { return "locked" })),
		mutant("unknown-taken-for-held", "an acquire of unknown outcome counts as held", func(l *singleLock) {
			l.acquire = func(ctx context.Context) (locks.Lease, error) {
				lease, err := l.tryLock(ctx)
				if errors.Is(err, locks.ErrBusy) || ctx.Err() != nil {
					return lease, err
				}
				return lease, nil
			}
		}),
		mutant("busy-taken-for-held", "any reply counts as a grant", func(l *singleLock) {
			l.acquire = func(ctx context.Context) (locks.Lease, error) {
				lease, err := l.tryLock(ctx)
				if errors.Is(err, locks.ErrBusy) {
					err = nil
				}
				return lease, err
			}
		}),
		mutant("busy-cleans-up", "a client that finds the lock busy deletes the key", func(l *singleLock) {
			l.acquire = func(ctx context.Context) (locks.Lease, error) {
				lease, err := l.tryLock(ctx)
				if errors.Is(err, locks.ErrBusy) {
					if derr := l.node().Do(ctx, "DEL", l.key).Err(); derr != nil {
						return lease, derr
					}
				}
				return lease, err
			}
		}),
	}
}
