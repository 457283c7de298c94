package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// handle is one client's handle on one named lock. Recipes embed it, or one of the two types below.
type handle struct {
	client *Client
	key    string
	ttl    time.Duration
}

// node returns the node of a recipe for one node.
func (h handle) node() Node { return h.client.Nodes[0] }

// withToken makes one attempt with a new token, which the returned lease has.
func (h handle) withToken(try func(token string) error) (Lease, error) {
	token, err := h.client.Token()
	if err != nil {
		return Lease{}, err
	}
	return Lease{Token: token}, try(token)
}

// plainDel is a handle that releases by a bare DEL, without a check of the owner.
type plainDel struct{ handle }

// Unlock implements Lock. ErrNotHeld: DEL replied 0.
func (l plainDel) Unlock(ctx context.Context, _ Lease) error { return del(ctx, l.node(), l.key) }

// ownedDel is a handle that releases by compareAndDelete.
type ownedDel struct{ handle }

// Unlock implements Lock. ErrNotHeld: the key is gone or has another token.
func (l ownedDel) Unlock(ctx context.Context, lease Lease) error {
	return releaseOwned(ctx, l.node(), l.key, lease.Token)
}

// rwLock is a read-write lock that is made of a writer's lock and a reader's.
type rwLock struct {
	Lock
	reader Lock
}

// Read implements RWLocker.
func (l rwLock) Read() Lock { return l.reader }

// Write implements RWLocker.
func (l rwLock) Write() Lock { return l }

// onOneNode returns a Recipe.New for recipes that need at least one node and keep no state across
// keys. Recipes for independent nodes use it too. The Makers check their arguments.
func onOneNode(lock func(handle) (Lock, error)) func(*Client) (Maker, error) {
	return func(c *Client) (Maker, error) {
		if len(c.Nodes) == 0 {
			return nil, errors.New("client has no Redis node")
		}
		return func(key string, ttl time.Duration) (Lock, error) {
			if err := checkMake(key, ttl); err != nil {
				return nil, err
			}
			return lock(handle{c, key, ttl})
		}, nil
	}
}

// withState is onOneNode for recipes that keep state per client process, across keys. It calls
// state once for each Maker.
func withState[S any](state func(*Client) (S, error), lock func(handle, S) Lock) func(*Client) (Maker, error) {
	return func(c *Client) (Maker, error) {
		var s S
		maker, err := onOneNode(func(h handle) (Lock, error) { return lock(h, s), nil })(c)
		if err != nil {
			return nil, err
		}
		if s, err = state(c); err != nil {
			return nil, err
		}
		return maker, nil
	}
}

// majority, as a Quorum for the function claims, means a majority of the nodes.
const majority = -1

// claims returns a Recipe.Claims. After a client's crash, others get in again within the recovery of the
// lease time. also has the recipe's other claims; a Quorum of 0 means one node. The claims name
// the scripts.
func claims(id string, recovery func(ttl time.Duration) time.Duration, also history.Claims, scripts ...*script) func(time.Duration, int) history.Claims {
	return func(ttl time.Duration, nodes int) history.Claims {
		c := also
		c.Lock, c.TTL, c.Recovery = id, ttl, recovery(ttl)
		switch c.Quorum {
		case 0:
			c.Quorum = 1
		case majority:
			c.Quorum = nodes/2 + 1
		}
		for _, s := range scripts {
			if c.ScriptNames == nil {
				c.ScriptNames = map[string]string{}
			}
			c.ScriptNames[s.run.Hash()] = s.name
		}
		return c
	}
}

// forEver is the recovery of a lock whose key never expires.
func forEver(time.Duration) time.Duration { return 0 }

// wholeSeconds returns the expiry that EX or EXPIRE sets for a lease time.
func wholeSeconds(ttl time.Duration) time.Duration {
	return time.Duration(seconds(ttl)) * time.Second
}

// milliseconds rounds a lease time up to the whole milliseconds of PX.
func milliseconds(ttl time.Duration) int64 {
	return int64((ttl + time.Millisecond - 1) / time.Millisecond)
}

// wholeMilliseconds returns the expiry that PX or PEXPIRE sets for a lease time.
func wholeMilliseconds(ttl time.Duration) time.Duration {
	return time.Duration(milliseconds(ttl)) * time.Millisecond
}

// The functions below send their commands literally, through Do, because go-redis's SetNX sends
// SET, its Set chooses EX or PX itself, and its Expire drops fractions of a second.

// setnx sends SETNX. It returns nil if the key was free and ErrBusy if not; after any other error
// the outcome is unknown.
func setnx(ctx context.Context, c Node, key string, value any) error {
	return acquired(c.Do(ctx, "SETNX", key, value), key)
}

// acquired interprets the reply to an attempt to acquire. A reply of 0 is ErrBusy; after an error
// the outcome is unknown.
func acquired(reply *redis.Cmd, key string) error { return done(reply, ErrBusy, "acquire", key) }

// released interprets the reply to a release. A reply of 0 is ErrNotHeld; after an error the
// outcome is unknown.
func released(reply *redis.Cmd, key string) error { return done(reply, ErrNotHeld, "release", key) }

// done interprets a reply that is 0 if the command changed nothing. The argument none is the error to
// return for a reply of 0, such as ErrBusy. The argument what is the verb of any other error's text,
// such as "acquire".
func done(reply *redis.Cmd, none error, what, key string) error {
	n, err := reply.Int64()
	switch {
	case err != nil:
		return fmt.Errorf("%s %q: %w", what, key, err)
	case n == 0:
		return none
	}
	return nil
}

// setIfAbsent sends SET key value with the given options, which include NX. It returns nil if the
// key was free and ErrBusy if not; after any other error the outcome is unknown.
func setIfAbsent(ctx context.Context, c Node, key string, value any, options ...any) error {
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

// expire sends EXPIRE in whole seconds. As the documents do, it ignores whether the key still
// existed. After an error the outcome is unknown.
func expire(ctx context.Context, c Node, key string, ttl time.Duration) error {
	return lifeSet(c.Do(ctx, "EXPIRE", key, seconds(ttl)), key)
}

// lifeSet interprets the reply to an EXPIRE. It ignores a reply of 0 (the key was gone).
func lifeSet(reply *redis.Cmd, key string) error {
	if err := reply.Err(); err != nil {
		return fmt.Errorf("set the life of %q: %w", key, err)
	}
	return nil
}

// del sends a bare DEL. If DEL replies 0, nobody held the lock, so del returns ErrNotHeld. If DEL
// replies 1, del returns nil, although DEL may have removed another client's key.
func del(ctx context.Context, c Node, key string) error {
	return released(c.Do(ctx, "DEL", key), key)
}
