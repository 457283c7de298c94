package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// hilarySetEx is a bug in the locking of Apereo OAE's Hilary 4.2.1,
// node_modules/oae-util/lib/locking.js: a client that fails to acquire takes a missing key for a
// key without a TTL, and writes it again, so that a released lock comes back.
var hilarySetEx = bug.Bug{
	Name:     "hilary-setex",
	Title:    "oaeproject/Hilary #793",
	Link:     "https://github.com/oaeproject/Hilary/pull/793",
	FixedIn:  "4.2.2",
	Language: "JavaScript",
	Story:    "A client that found the lock held asked for the key's TTL, and wrote the key again if Redis answered that it had none. Redis gave the same answer for a missing key: a lock that was released between the two commands came back. (In this trial an eviction removes the key.)",
	Before:   on(func(rdb *redis.Client) lock { return ensured(rdb, false) }),
	After:    on(func(rdb *redis.Client) lock { return ensured(rdb, true) }),
	Fault:    "eviction", Flaw: "liveness by orphaned-key",
	OtherBugsLeft: true,
}

// ensured is a lock that every client repairs. A client that finds the lock held and without a TTL
// writes the key again, with a TTL. Before Redis 2.8 TTL answered -1 for a missing key too, so here
// any negative answer means "no TTL". If exists is set, the client also checks that the key exists.
func ensured(rdb *redis.Client, exists bool) lock {
	ensureTTL := func(ctx context.Context, key, owner string, ttl time.Duration) error {
		var there *redis.IntCmd
		var left *redis.DurationCmd
		_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			there, left = p.Exists(ctx, key), p.TTL(ctx, key)
			return nil
		})
		if err != nil || left.Val() >= 0 || exists && there.Val() == 0 {
			return err
		}
		return rdb.SetEx(ctx, key, owner, ttl).Err()
	}
	return lock{
		acquire: func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
			owner, err := get(ctx, rdb, key)
			if err != nil {
				return false, err
			}
			if owner != "" {
				return false, ensureTTL(ctx, key, owner, ttl)
			}
			if ok, err := rdb.SetNX(ctx, key, token, 0).Result(); !ok || err != nil {
				return ok, err
			}
			return true, ensureTTL(ctx, key, token, ttl)
		},
		release: getThenDelete(rdb),
	}
}
