package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// onOneNode is Recipe.New for recipes that use the first node and keep no state across
// keys. It checks lock's arguments.
func onOneNode(lock func(c *Client, key string, ttl time.Duration) (Lock, error)) func(*Client) (Maker, error) {
	return func(c *Client) (Maker, error) {
		if len(c.Nodes) == 0 {
			return nil, errors.New("client has no Redis node")
		}
		return func(key string, ttl time.Duration) (Lock, error) {
			if err := checkMake(key, ttl); err != nil {
				return nil, err
			}
			return lock(c, key, ttl)
		}, nil
	}
}

// withState is onOneNode for recipes that keep state per client process, across keys:
// each Maker calls state once.
func withState[S any](
	state func(*Client) (S, error), lock func(c *Client, state S, key string, ttl time.Duration) (Lock, error),
) func(*Client) (Maker, error) {
	return func(c *Client) (Maker, error) {
		var s S
		maker, err := onOneNode(func(c *Client, key string, ttl time.Duration) (Lock, error) { return lock(c, s, key, ttl) })(c)
		if err != nil {
			return nil, err
		}
		if s, err = state(c); err != nil {
			return nil, err
		}
		return maker, nil
	}
}

// oneNodeClaims is what most recipes on one node promise: the lease time ttl, and that
// others get in again after recovery, the lease as the recipe rounds it.
func oneNodeClaims(id string, ttl, recovery time.Duration, scripts ...*script) history.Claims {
	claims := history.Claims{Lock: id, Quorum: 1, TTL: ttl, Recovery: recovery}
	for _, s := range scripts {
		if claims.ScriptNames == nil {
			claims.ScriptNames = map[string]string{}
		}
		claims.ScriptNames[s.run.Hash()] = s.name
	}
	return claims
}

// wholeSeconds is the expiry that EX or EXPIRE sets for a lease time.
func wholeSeconds(ttl time.Duration) time.Duration {
	return time.Duration(seconds(ttl)) * time.Second
}

// milliseconds rounds a lease time up to the whole milliseconds of PX.
func milliseconds(ttl time.Duration) int64 {
	return int64((ttl + time.Millisecond - 1) / time.Millisecond)
}

// wholeMilliseconds is the expiry that PX or PEXPIRE sets for a lease time.
func wholeMilliseconds(ttl time.Duration) time.Duration {
	return time.Duration(milliseconds(ttl)) * time.Millisecond
}

// The commands below go out literally, through Do: go-redis's SetNX sends SET,
// and its Expire and Set choose units of their own.

// setnx sends SETNX: nil if the key was free, else ErrBusy or unknown.
func setnx(ctx context.Context, c redis.UniversalClient, key string, value any) error {
	set, err := c.Do(ctx, "SETNX", key, value).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("acquire %q: %w", key, err)
	case set == 0:
		return ErrBusy
	}
	return nil
}

// setIfAbsent sends SET key value with these options, which include NX: nil if the key
// was free, else ErrBusy or unknown.
func setIfAbsent(ctx context.Context, c redis.UniversalClient, key string, value any, options ...any) error {
	args := append([]any{"SET", key, value}, options...)
	err := c.Do(ctx, args...).Err()
	switch {
	case errors.Is(err, redis.Nil):
		return ErrBusy
	case err != nil:
		return fmt.Errorf("acquire %q: %w", key, err)
	}
	return nil
}

// expire sends EXPIRE in whole seconds and, as the documents do, ignores
// whether the key was still there. An error is unknown.
func expire(ctx context.Context, c redis.UniversalClient, key string, ttl time.Duration) error {
	if err := c.Do(ctx, "EXPIRE", key, seconds(ttl)).Err(); err != nil {
		return fmt.Errorf("set the life of %q: %w", key, err)
	}
	return nil
}

// del sends a bare DEL. The reply 0 says that nobody held the lock, so neither
// did the caller: ErrNotHeld. The reply 1 does not say whose key it was.
func del(ctx context.Context, c redis.UniversalClient, key string) error {
	deleted, err := c.Do(ctx, "DEL", key).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("release %q: %w", key, err)
	case deleted == 0:
		return ErrNotHeld
	}
	return nil
}
