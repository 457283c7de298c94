package locks

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// setnxThenExpire is D1's script that makes SETNX and EXPIRE one step. It returns true (1 on the
// wire) if the key was free, else false (nil on the wire).
// KEYS[1] is the lock, ARGV[1] its value, ARGV[2] its TTL in seconds.
var setnxThenExpire = newScript("setnx-then-expire", `
if redis.call("SETNX", KEYS[1], ARGV[1]) == 1 then
  redis.call("EXPIRE", KEYS[1], tonumber(ARGV[2]))
  return true
end
return false`)

// acquireBySetnxThenExpire runs setnxThenExpire; ttl is in seconds. It returns nil if the key was
// free and ErrBusy if not; after any other error the outcome is unknown.
func acquireBySetnxThenExpire(ctx context.Context, c redis.Scripter, key string, value, ttl any) error {
	err := setnxThenExpire.Run(ctx, c, []string{key}, value, ttl).Err()
	switch {
	case errors.Is(err, redis.Nil):
		return ErrBusy
	case err != nil:
		return fmt.Errorf("acquire %q: %w", key, err)
	}
	return nil
}

// luaSetnxExpire is D1's second version. One script runs SETNX and EXPIRE, so the key always has an
// expiry. The bare DEL still removes another's lock if it is sent or delivered after the key
// expired.
//
// Unlock returns ErrNotHeld if DEL replies 0.
type luaSetnxExpire struct {
	polling
	plainDel
}

func init() {
	Register(Recipe{
		ID:       "lua-setnx-expire",
		Document: "D1",
		Summary:  "Lua: SETNX key 1, EXPIRE key s · DEL key",
		Topology: Single,
		Claims:   claims("lua-setnx-expire", wholeSeconds, history.Claims{}, setnxThenExpire),
		Flaws:    flaws(bareDelete("D1, second version"), leaseOutlived(), workOutlived("D1"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey()),
		New:      onOneNode(func(h handle) (Lock, error) { return &luaSetnxExpire{plainDel: plainDel{h}}, nil }),
	})
}

// TryLock implements Lock. The lease has no token.
func (l *luaSetnxExpire) TryLock(ctx context.Context) (Lease, error) {
	return Lease{}, acquireBySetnxThenExpire(ctx, l.node(), l.key, 1, seconds(l.ttl))
}
