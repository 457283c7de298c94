package ports

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// hieroQueue is a bug in RedisLockStrategy of the Hiero JSON-RPC relay 0.74: a client that dies
// while it is the first in the queue keeps all others out for ever.
var hieroQueue = bug.Bug{
	Name:     "hiero-queue",
	Title:    "hiero-ledger/hiero-json-rpc-relay #4726",
	Link:     "https://github.com/hiero-ledger/hiero-json-rpc-relay/pull/4726",
	FixedIn:  "0.75.0",
	Language: "TypeScript",
	Story:    "Waiting clients stood in a list, and only the first one tried to take the lock: a client that died while it was first in the list kept all others out for ever.",
	Options:  locktest.Options{Blocking: true},
	Before:   hieroQueued(hieroLock{}),
	After:    hieroQueued(hieroLock{heartbeats: true}),
	Fault:    "client-crash", Flaw: "liveness by no-expiry, for ever",
	OtherBugsLeft: true,
}

// These are the relay's settings, except that the relay polls 20 times as often by default.
const (
	hieroPoll      = time.Second      // between two attempts of a waiting session
	hieroHeartbeat = 5 * hieroPoll    // the TTL of a session's heartbeat
	hieroMember    = 10 * time.Second // between two checks that the session is still in the queue
)

// hieroLock is a lock with a queue, a list of waiting sessions. The oldest session is at the list's
// tail. Only the oldest session may take the lock.
type hieroLock struct {
	heartbeats bool // waiting sessions have a heartbeat; other sessions remove the first session if it has none
	rejoins    bool // a waiting session that was removed joins the queue again

	rdb     *redis.Client
	key     string
	session string
}

func hieroQueued(l hieroLock) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
		c.Cleanup(func() { _ = rdb.Close() })
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			own := l
			own.rdb, own.key, own.session = rdb, key, rand.Text()
			err := own.acquire(ctx, ttl)
			if err != nil {
				return locktest.Held{}, err
			}
			return locktest.Held{Token: own.session, Release: func(ctx context.Context) error {
				ok, err := deleteOwn(rdb)(ctx, key, own.session)
				return unless(ok, err, locktest.ErrNotHeld)
			}}, nil
		}, nil
	}
}

func (l hieroLock) queue() string                   { return l.key + ":queue" }
func (l hieroLock) heartbeat(session string) string { return l.key + ":heartbeat:" + session }

// acquire waits until the session is the first in the queue and the lock is free. It leaves the
// queue even if it fails.
func (l hieroLock) acquire(ctx context.Context, ttl time.Duration) error {
	if err := l.rdb.LPush(ctx, l.queue(), l.session).Err(); err != nil {
		return err
	}
	defer l.rdb.LRem(context.WithoutCancel(ctx), l.queue(), 1, l.session)
	looked := time.Now()
	for {
		if l.heartbeats {
			if err := l.rdb.Set(ctx, l.heartbeat(l.session), "1", hieroHeartbeat).Err(); err != nil {
				return err
			}
		}
		if l.rejoins && time.Since(looked) >= hieroMember {
			looked = time.Now()
			if err := l.rejoin(ctx); err != nil {
				return err
			}
		}
		acquired, again, err := l.turn(ctx, ttl)
		if acquired || err != nil {
			return err
		}
		if again {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(hieroPoll):
		}
	}
}

// turn takes the lock if the session is the first in the queue. again is true if turn removed a
// session without a heartbeat; the caller then tries once more.
func (l hieroLock) turn(ctx context.Context, ttl time.Duration) (acquired, again bool, err error) {
	first, err := l.rdb.LIndex(ctx, l.queue(), -1).Result()
	if err = ignoreNil(err); err != nil {
		return false, false, err
	}
	if first == l.session {
		acquired, err = setNX(l.rdb)(ctx, l.key, l.session, ttl)
		return acquired, false, err
	}
	if first == "" || !l.heartbeats {
		return false, false, nil
	}
	alive, err := l.rdb.Exists(ctx, l.heartbeat(first)).Result()
	if err != nil || alive == 1 {
		return false, false, err
	}
	return false, true, l.rdb.LRem(ctx, l.queue(), 0, first).Err()
}

// rejoin puts the session at the end of the queue if the session was removed.
func (l hieroLock) rejoin(ctx context.Context) error {
	err := l.rdb.LPos(ctx, l.queue(), l.session, redis.LPosArgs{}).Err()
	if errors.Is(err, redis.Nil) {
		return l.rdb.LPush(ctx, l.queue(), l.session).Err()
	}
	return err
}
