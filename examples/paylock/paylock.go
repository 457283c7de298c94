// Package paylock is a lock as many services have one: a single file of their own on go-redis.
//
// Such files often have a certain mistake, and so has this lock: it compares the owner before it
// deletes the key, but in two commands. Between the two commands the lease may end and another
// process may get the lock. The DEL then removes the other process's key. After a call of Mended,
// Release compares and deletes in one script, which has no such gap.
package paylock

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrTaken: another process has the lock.
var ErrTaken = errors.New("the payment is being processed elsewhere")

// ErrExpired: this process no longer held the lock when it released it.
var ErrExpired = errors.New("the lock expired before its release")

// Lock is the lock on one payment, as returned by Obtain.
type Lock struct {
	rdb    *redis.Client
	key    string
	token  string
	mended bool
}

// Obtain takes the lock on a payment for the ttl. The error is ErrTaken if another process has the
// lock.
func Obtain(ctx context.Context, rdb *redis.Client, key string, ttl time.Duration) (*Lock, error) {
	l := &Lock{rdb: rdb, key: key, token: rand.Text()}
	ok, err := rdb.SetNX(ctx, key, l.token, ttl).Result()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrTaken
	}
	return l, nil
}

// Mended makes Release compare and delete in one step.
func (l *Lock) Mended() *Lock {
	l.mended = true
	return l
}

var compareAndDelete = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

// Release releases the lock. The error is ErrExpired if the lease had ended.
func (l *Lock) Release(ctx context.Context) error {
	if l.mended {
		return expired(compareAndDelete.Run(ctx, l.rdb, []string{l.key}, l.token).Int64())
	}
	switch token, err := l.rdb.Get(ctx, l.key).Result(); {
	case errors.Is(err, redis.Nil), err == nil && token != l.token:
		return ErrExpired
	case err != nil:
		return err
	}
	return expired(l.rdb.Del(ctx, l.key).Result()) // the key may be another process's by now
}

// expired turns the number of removed keys into an error: ErrExpired if there were none.
func expired(removed int64, err error) error {
	if err == nil && removed == 0 {
		return ErrExpired
	}
	return err
}
