// Package redigolock is a service's own lock on redigo, for jobs that at most one worker runs at a
// time.
package redigolock

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Errors of Acquire, Extend and Release.
var (
	// ErrRunning: another worker runs the job.
	ErrRunning = errors.New("the job is running elsewhere")
	// ErrLost: this worker no longer held the lock.
	ErrLost = errors.New("the lock on the job was lost")
)

// Lock is the lock on one job, as returned by Acquire.
type Lock struct {
	pool       *redis.Pool
	key, token string
}

// Acquire locks a job for the lease. The error is ErrRunning if another worker runs the job.
func Acquire(ctx context.Context, pool *redis.Pool, job string, lease time.Duration) (*Lock, error) {
	l := &Lock{pool: pool, key: job, token: rand.Text()}
	err := l.do(ctx, func(conn redis.Conn) error {
		_, err := redis.String(redis.DoContext(conn, ctx, "SET", job, l.token, "NX", "PX", lease.Milliseconds()))
		if errors.Is(err, redis.ErrNil) {
			return ErrRunning
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

var extend = redis.NewScript(1, `
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0`)

// Extend makes the lock last for the lease from now on. The error is ErrLost if the lock was lost.
func (l *Lock) Extend(ctx context.Context, lease time.Duration) error {
	return l.run(ctx, extend, lease.Milliseconds())
}

var release = redis.NewScript(1, `
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

// Release releases the lock. The error is ErrLost if the lock was lost.
func (l *Lock) Release(ctx context.Context) error { return l.run(ctx, release) }

// run runs a script on the lock's key, with the lock's token and more arguments.
func (l *Lock) run(ctx context.Context, script *redis.Script, arguments ...any) error {
	return l.do(ctx, func(conn redis.Conn) error {
		done, err := redis.Bool(script.DoContext(ctx, conn, append([]any{l.key, l.token}, arguments...)...))
		if err == nil && !done {
			return ErrLost
		}
		return err
	})
}

func (l *Lock) do(ctx context.Context, f func(redis.Conn) error) error {
	conn, err := l.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return f(conn)
}
