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
	dogs := &watchdogs{byToken: map[string]context.CancelFunc{}}
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			held, err := l.set(ctx)
			if err != nil {
				return held, err
			}
			process, quit := context.WithCancel(l.c.Context)
			dogs.add(held.Token, quit)
			go every(process, l.ttl/3, func() { _ = renew(process, held.Token) }) // the next tick retries
			return held, nil
		},
		func(ctx context.Context, held locks.Lease) error {
			dogs.stop(held.Token)
			return l.unlock(ctx, held)
		},
	}
}

// every calls do at each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

func (l lease) setXX(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, l.ttl/3)
	defer cancel()
	return l.node().SetXX(ctx, l.key, token, l.ttl).Err()
}
