package strangers

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

// transactions are locks that compare with GET and delete in a transaction (MULTI, EXEC).
func transactions() []Stranger {
	return []Stranger{
		{ID: "watch-multi", Doc: "SET NX PX; WATCH, GET, MULTI, DEL, EXEC", Right: true, bind: of(func(l lease) locks.Lock {
			return steps{l.set, l.deleteWatched}
		})},
		{ID: "watch-multi-both", Doc: "acquire: WATCH, EXISTS, MULTI, SET, EXEC; release: WATCH, GET, MULTI, DEL, EXEC", Right: true,
			bind: of(func(l lease) locks.Lock { return steps{l.setWatched, l.deleteWatched} })},
		{ID: "exec-unread", Doc: "acquire: WATCH, EXISTS, MULTI, SET, EXEC, without a look at what EXEC answered",
			bind: of(func(l lease) locks.Lock { return steps{l.setUnread, l.deleteWatched} })},
		{ID: "multi-unwatched", Doc: "the release compares before its transaction, without WATCH", bind: of(func(l lease) locks.Lock {
			return steps{l.set, l.deleteUnwatched}
		})},
	}
}

// setWatched takes the lock if no other client changes the key between EXISTS and SET.
func (l lease) setWatched(ctx context.Context) (locks.Lease, error) {
	held, err := l.setIn(ctx)
	if errors.Is(err, redis.TxFailedErr) {
		err = locks.ErrBusy
	}
	return held, err
}

// setUnread is setWatched, but it takes a transaction that another client's change undid for a success.
func (l lease) setUnread(ctx context.Context) (locks.Lease, error) {
	held, err := l.setIn(ctx)
	if errors.Is(err, redis.TxFailedErr) {
		err = nil
	}
	return held, err
}

// setIn looks at the watched key and sets it in a transaction. The error is redis.TxFailedErr if another client changed
// the key in between.
func (l lease) setIn(ctx context.Context) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	err = l.node().(redis.UniversalClient).Watch(ctx, func(tx *redis.Tx) error {
		switch n, err := tx.Exists(ctx, l.key).Result(); {
		case err != nil:
			return err
		case n > 0:
			return locks.ErrBusy
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, l.key, token, l.ttl).Err() })
		return err
	}, l.key)
	return locks.Lease{Token: token}, err
}

// deleteWatched deletes the key if it holds the token and no other client changes the key
// between GET and DEL.
func (l lease) deleteWatched(ctx context.Context, held locks.Lease) error {
	err := l.node().(redis.UniversalClient).Watch(ctx, func(tx *redis.Tx) error {
		if err := compare(tx.Get(ctx, l.key), held.Token); err != nil {
			return err
		}
		return deleteIn(ctx, tx, l.key)
	}, l.key)
	if errors.Is(err, redis.TxFailedErr) {
		err = locks.ErrNotHeld
	}
	return err
}

// deleteUnwatched deletes the key if an earlier GET found the token there.
func (l lease) deleteUnwatched(ctx context.Context, held locks.Lease) error {
	if err := compare(l.node().Get(ctx, l.key), held.Token); err != nil {
		return err
	}
	return deleteIn(ctx, l.node(), l.key)
}

// compare returns nil if the key has the token, and locks.ErrNotHeld if it has another value or is
// missing.
func compare(reply *redis.StringCmd, token string) error {
	got, err := reply.Result()
	switch {
	case errors.Is(err, redis.Nil), err == nil && got != token:
		return locks.ErrNotHeld
	case err != nil:
		return fmt.Errorf("look at the key: %w", err)
	}
	return nil
}

// deleteIn deletes the key in a transaction.
func deleteIn(ctx context.Context, c interface {
	TxPipelined(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error)
}, key string) error {
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, key).Err() })
	return err
}
