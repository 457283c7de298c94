package strangers

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// renewals are locks whose watchdogs renew the lease by setting the key again.
func renewals() []Stranger {
	renews := func(c *history.Claims, _ int) { c.Renews = true }
	return []Stranger{
		{ID: "set-xx", Doc: "the renewal is SET XX, which overwrites the token of any other holder",
			promises: renews, bind: of(func(l lease) locks.Lock { return renewing(l, l.setXX) })},
	}
}

// renewing returns a lock whose watchdog renews until the release.
func renewing(l lease, renew func(ctx context.Context, token string) error) locks.Lock {
	return watched(l, steps{l.set, l.unlock}, func(ctx context.Context, held *locks.Lease, _ time.Time) {
		token := held.Token
		go every(ctx, l.ttl/3, func() { _ = renew(ctx, token) }) // the next tick retries
	})
}

func (l lease) setXX(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, l.ttl/3)
	defer cancel()
	return l.node().SetXX(ctx, l.key, token, l.ttl).Err()
}
