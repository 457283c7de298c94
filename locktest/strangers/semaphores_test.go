package strangers

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// permits is the number of clients that may hold a semaphore at once.
const permits = 2

// The scripts of a sorted set of holders. The score is the end of the hold by the node's clock.
// KEYS[1] is the semaphore; ARGV[1] is the token, ARGV[2] the lease in milliseconds, ARGV[3] the
// number of permits.
var (
	takePermit = redis.NewScript(nodeTime + `
if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[3]) then
  return 0
end` + enterRanked)
	takePermitTooMany = redis.NewScript(nodeTime + `
if redis.call('zcard', KEYS[1]) > tonumber(ARGV[3]) then
  return 0
end` + enterRanked)
)

// semaphores are locks that several clients may hold at once.
func semaphores() []Stranger {
	some := func(c *history.Claims, _ int) { c.Permits = permits }
	return []Stranger{
		{ID: "semaphore", Doc: "a sorted set of two holders: each member's score is the end of its lease by the node's clock", Right: true,
			promises: some, bind: of(func(l lease) locks.Lock { return semaphore(l, takePermit) })},
		{ID: "semaphore-one-too-many", Doc: "the same, but it admits a third holder", promises: some,
			bind: of(func(l lease) locks.Lock { return semaphore(l, takePermitTooMany) })},
	}
}

func semaphore(l lease, take *redis.Script) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			return l.attempt(func(token string) *redis.Cmd {
				return take.Run(ctx, l.node(), []string{l.key}, token, l.life(), permits)
			})
		},
		l.remove("ZREM"),
	}
}
