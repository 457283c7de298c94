package ports

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// retoolsExpire is a bug in Lock of retools 0.2, retools/lock.py: EXPIRE gets the time at which the
// lease ends instead of its duration, so that no key expires.
var retoolsExpire = bug.Bug{
	Name:     "retools-expire",
	Title:    "bbangert/retools b817891",
	Link:     "https://github.com/bbangert/retools/commit/b817891",
	FixedIn:  "0.3",
	Language: "Python",
	Story:    "EXPIRE was given the time at which the lease ends instead of its duration, so no key expired. Clients therefore took over every dead holder's lock by GETSET, and a client that comes too late also overwrites the key by its GETSET.",
	Options:  locktest.Options{WallClock: true},
	Before:   timed(func(rdb *redis.Client, now func() time.Time) lock { return byTimestamp(rdb, now, true) }),
	After:    timed(func(rdb *redis.Client, now func() time.Time) lock { return byTimestamp(rdb, now, false) }),
	Fault:    "client-crash", Flaw: "ownership by race",
	OtherBugsLeft: true,
}

// byTimestamp is a lock whose key holds the end of the lease by its owner's clock, as the
// documentation of SETNX describes it. A client whose own clock says that the lease has ended
// replaces the value by GETSET. The key's TTL is the lease. If absolute is set, the TTL is the
// number of seconds from 1970 to the lease's end, so that the key hardly ever expires.
func byTimestamp(rdb *redis.Client, now func() time.Time, absolute bool) lock {
	var starts sync.Map // the start and the TTL of each lease, by token
	expire := func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
		starts.Store(token, grant{now(), ttl})
		if absolute {
			ttl = time.Duration(now().Add(ttl).Unix()) * time.Second
		}
		return true, rdb.Expire(ctx, key, ttl).Err()
	}
	return lock{
		acquire: func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
			end := stamp(now().Add(ttl + time.Second))
			if ok, err := rdb.SetNX(ctx, key, end, 0).Result(); err != nil {
				return false, err
			} else if ok {
				return expire(ctx, key, token, ttl)
			}
			old, err := get(ctx, rdb, key)
			if err != nil || old == "" || !ended(old, now()) {
				return false, err
			}
			if was, err := rdb.GetSet(ctx, key, end).Result(); err != nil || was != old {
				return false, ignoreNil(err)
			}
			return expire(ctx, key, token, ttl)
		},
		release: func(ctx context.Context, key, token string) (bool, error) {
			if g, ok := starts.Load(token); !ok || now().Sub(g.(grant).start) >= g.(grant).ttl {
				return false, nil
			}
			return did(rdb.Del(ctx, key).Result())
		},
	}
}

type grant struct {
	start time.Time
	ttl   time.Duration
}

// stamp writes a time as the value of a key.
func stamp(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// ended reports whether a lease is over at the time now. A missing value counts as over.
func ended(end string, now time.Time) bool {
	n, _ := strconv.ParseInt(end, 10, 64)
	return n <= now.UnixNano()
}
