package strangers

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// setThenCount acquires the lock and increments the counter. It returns the number, or nil if the
// lock is taken.
// KEYS[1] is the lock, KEYS[2] the counter; ARGV[1] is the token, ARGV[2] the TTL in
// milliseconds.
var setThenCount = redis.NewScript(`
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return false
end
return redis.call('incr', KEYS[2])`)

// fences are locks with a fencing token for each grant.
func fences() []Stranger {
	numbered := func(c *history.Claims, _ int) { c.Fenced = true }
	return []Stranger{
		{ID: "fence-before-lock", Doc: "INCR draws the fence before the lock is taken, so a client with a smaller fence may get the lock later",
			promises: numbered, bind: of(func(l lease) locks.Lock { return steps{l.countThenSet, l.unlock} })},
		{ID: "fence-after-lock", Doc: "a second command draws the fence after the lock was taken: if the lease has ended by then, the next holder may have the smaller fence",
			promises: numbered, bind: of(func(l lease) locks.Lock { return steps{l.setThenCount, l.unlock} })},
		{ID: "fence-in-script", Doc: "the script that takes the lock also draws the fence", Right: true,
			promises: numbered, bind: of(func(l lease) locks.Lock { return steps{l.setAndCount, l.unlock} })},
	}
}

func (l lease) counter() string { return l.key + ":fence" }

func (l lease) countThenSet(ctx context.Context) (locks.Lease, error) {
	fence, err := l.node().Incr(ctx, l.counter()).Result()
	if err != nil {
		return locks.Lease{}, fmt.Errorf("count: %w", err)
	}
	held, err := l.set(ctx)
	held.Fence = fence
	return held, err
}

func (l lease) setThenCount(ctx context.Context) (locks.Lease, error) {
	held, err := l.set(ctx)
	if err != nil {
		return held, err
	}
	if held.Fence, err = l.node().Incr(ctx, l.counter()).Result(); err != nil {
		return held, fmt.Errorf("count: %w", err)
	}
	return held, nil
}

func (l lease) setAndCount(ctx context.Context) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	held := locks.Lease{Token: token}
	held.Fence, err = setThenCount.Run(ctx, l.node(), []string{l.key, l.counter()}, token, l.life()).Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return held, locks.ErrBusy
	case err != nil:
		return held, fmt.Errorf("acquire: %w", err)
	}
	return held, nil
}
