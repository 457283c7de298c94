// Package paylock is a lock as many services have one: a file of their own on go-redis.
//
// It has the mistake that such files often have: it compares the owner before it deletes the
// key, but in two commands. Between them the lease may end and another may get the lock,
// whose key is then deleted. Mended shows the one script that repairs it.
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

// ErrExpired: the lock was not this process's any more when it was released.
var ErrExpired = errors.New("the lock expired before its release")

// Lock is a lock that is held.
type Lock struct {
	rdb    *redis.Client
	key    string
	token  string
	mended bool
}

// Obtain takes the lock on a payment for the ttl. The error is ErrTaken if another process
// has it.
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

// compareAndDelete removes the key if it has the token.
var compareAndDelete = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

// Release gives the lock back. The error is ErrExpired if the lease had ended.
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
	return expired(l.rdb.Del(ctx, l.key).Result()) // whose key is it now?
}

// expired reads how many keys were removed.
func expired(removed int64, err error) error {
	if err == nil && removed == 0 {
		return ErrExpired
	}
	return err
}
