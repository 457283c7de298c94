package strangers

import (
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
		l.ttl = life(l.ttl)
		return steps{l.set, l.unlock}
	}
}
