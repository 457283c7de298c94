package ports

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// five are the options of a Redlock on five nodes.
var five = locktest.Options{Nodes: 5}

// drift is the part of a lease that Redlock subtracts for clocks that run at different speeds.
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// redlock acquires on one node after the other. The client has the lock if a majority granted it
// and validity says that some of the lease is left. Holders learn the end of their lease.
func redlock(validity func(ttl, elapsed time.Duration) time.Duration) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		nodes := connect(c)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			token, start, granted := rand.Text(), time.Now(), 0
			for _, rdb := range nodes {
				if ok, err := setNX(rdb)(ctx, key, token, ttl); ok && err == nil {
					granted++
				}
			}
			release := func(ctx context.Context) (err error) {
				for _, rdb := range nodes {
					_, err = deleteOwn(rdb)(ctx, key, token)
				}
				return err
			}
			now := time.Now()
			left := validity(ttl, now.Sub(start))
			if granted <= len(nodes)/2 || left <= 0 {
				_ = release(ctx)
				return locktest.Held{}, locktest.ErrBusy
			}
			return locktest.Held{Token: token, Release: release, Until: func() time.Time { return now.Add(left) }}, nil
		}, nil
	}
}

// connect returns clients of all nodes; these clients send no command twice.
func connect(c *locktest.Client) (nodes []*redis.Client) {
	for _, addr := range c.Addrs {
		rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: c.Dial, MaxRetries: -1, ReadTimeout: time.Second})
		c.Cleanup(func() { _ = rdb.Close() })
		nodes = append(nodes, rdb)
	}
	return nodes
}

// right returns the validity time that Redlock prescribes.
func right(ttl, elapsed time.Duration) time.Duration { return ttl - elapsed - drift(ttl) }

// untold is the lock of a Subject, except that it does not tell its holder the end of the lease.
func untold(subject locktest.Subject) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		acquire, err := subject(c)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			held, err := acquire(ctx, key, ttl)
			held.Until = nil
			return held, err
		}, err
	}
}
