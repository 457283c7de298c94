// Package seats locks seats while they are sold. It is an ordinary service's lock: nothing in it
// knows of tests.
package seats

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Errors of Reserve and Release.
var (
	// ErrTaken: somebody else is buying the seat.
	ErrTaken = errors.New("the seat is being sold")
	// ErrExpired: the caller no longer held the lock.
	ErrExpired = errors.New("the lock on the seat has expired")
)

// Lock is the lock on one seat, as returned by Reserve.
type Lock struct {
	rdb        *redis.Client
	key, token string
	until      time.Time
}

// Reserve locks a seat for the ttl. The error is ErrTaken if somebody else has the lock.
func Reserve(ctx context.Context, rdb *redis.Client, seat string, ttl time.Duration) (*Lock, error) {
	l := &Lock{rdb: rdb, key: seat, token: rand.Text(), until: time.Now().Add(ttl)}
	ok, err := rdb.SetNX(ctx, seat, l.token, ttl).Result()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrTaken
	}
	return l, nil
}

// Until returns the end of the lease. The seller of the seat must stop at that instant.
func (l *Lock) Until() time.Time { return l.until }

var compareAndDelete = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

// Release releases the lock. The error is ErrExpired if the lease had ended.
func (l *Lock) Release(ctx context.Context) error {
	removed, err := compareAndDelete.Run(ctx, l.rdb, []string{l.key}, l.token).Int64()
	if err == nil && removed == 0 {
		return ErrExpired
	}
	return err
}
