package strangers

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// lives are locks whose keys have a shorter TTL than the requested lease.
func lives() []Stranger {
	return []Stranger{
		{ID: "half-life", Doc: "SET NX PX with half of the lease as TTL", bind: of(living(func(ttl time.Duration) time.Duration { return ttl / 2 }))},
		{ID: "nine-tenths-life", Doc: "SET NX PX with nine tenths of the lease as TTL", bind: of(living(func(ttl time.Duration) time.Duration { return ttl / 10 * 9 }))},
	}
}

func living(life func(ttl time.Duration) time.Duration) func(l lease) locks.Lock {
	return func(l lease) locks.Lock {
		return steps{
			func(ctx context.Context) (locks.Lease, error) {
				token, err := l.c.Token()
				if err != nil {
					return locks.Lease{}, err
				}
				ok, err := l.node().SetNX(ctx, l.key, token, life(l.ttl)).Result()
				if err == nil && !ok {
					err = locks.ErrBusy
				}
				return locks.Lease{Token: token}, err
			}, l.unlock,
		}
	}
}
