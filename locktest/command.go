package locktest

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/foreign"
)

// Command returns the Subject of a lock that is written in any language. For each client, the program name
// is started with these arguments. It speaks JSON lines, as docs/any-language.md says, and runs in virtual
// time. That needs Linux and a C compiler.
func Command(name string, args ...string) Subject {
	argv := append([]string{name}, args...)
	return func(c *Client) (Acquire, error) {
		make, able, err := foreign.Start(c.of, argv)
		if err != nil {
			return nil, err
		}
		acquire := func(read bool) Acquire {
			return func(ctx context.Context, key string, ttl time.Duration) (Held, error) {
				l, err := make(key, ttl)
				if err != nil {
					return Held{}, err
				}
				if rw, ok := l.(locks.RWLocker); ok && read {
					l = rw.Read()
				} else if ok {
					l = rw.Write()
				}
				return hold(ctx, l, able)
			}
		}
		if able.Readers {
			c.Readers(acquire(true))
		}
		return acquire(false), nil
	}
}

// hold acquires a lock of a child.
func hold(ctx context.Context, l locks.Lock, able foreign.Abilities) (Held, error) {
	lease, err := l.TryLock(ctx)
	held := Held{Token: lease.Token, Fence: lease.Fence, Lost: lease.Lost()}
	if err != nil {
		return held, err
	}
	held.Release = func(ctx context.Context) error { return l.Unlock(ctx, lease) }
	if extender, ok := l.(locks.Extender); ok && able.Extend {
		held.Extend = func(ctx context.Context) error {
			longer, err := extender.Extend(ctx, lease)
			if err == nil {
				lease = longer
			}
			return err
		}
	}
	if able.Until {
		held.Until = func() time.Time { return lease.Deadline }
	}
	return held, nil
}
