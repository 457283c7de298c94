package strangers

import (
	"context"
	"errors"

	"github.com/lockstorm/lockstorm/locks"
)

// falseFailures are locks that may report a failure although their command succeeded, or a grant although
// Redis refused it. The lock errors-taken-back is right, because it undoes the command before it reports the
// failure, and refused-then-looked, because it finds its own token.
func falseFailures() []Stranger {
	return []Stranger{
		{ID: "denies-release", Doc: "SET NX PX, compare and delete; the release reports ErrNotHeld even after it deleted the key", bind: of(deniesRelease)},
		{ID: "errors-as-busy", Doc: "SET NX PX, compare and delete; the acquire reports every error as ErrBusy", bind: of(errorsAsBusy)},
		{
			ID: "errors-taken-back", Doc: "the same, but after an error the acquire compares and deletes; it reports ErrBusy only if Redis answered that", Right: true,
			bind: of(errorsTakenBack),
		},
		{ID: "ignores-refusal", Doc: "SET NX PX, whose refusal nobody looks at, compare and delete", bind: of(ignoresRefusal)},
		{ID: "refused-then-looked", Doc: "SET NX PX, compare and delete; after a refusal, a client that finds its own token has the lock", Right: true, bind: of(refusedThenLooked)},
	}
}

// obtain makes one attempt by SET NX PX with a new token.
func (l lease) obtain(ctx context.Context) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	ok, err := l.node().SetNX(ctx, l.key, token, l.ttl).Result()
	if err == nil && !ok {
		err = locks.ErrBusy
	}
	return locks.Lease{Token: token}, err
}

func deniesRelease(l lease) locks.Lock {
	return steps{l.obtain, func(ctx context.Context, held locks.Lease) error {
		if err := l.unlock(ctx, held); err != nil {
			return err
		}
		return locks.ErrNotHeld
	}}
}

func errorsAsBusy(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		held, err := l.obtain(ctx)
		if err != nil {
			err = locks.ErrBusy
		}
		return held, err
	}, l.unlock}
}

func errorsTakenBack(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		held, err := l.obtain(ctx)
		if err == nil || errors.Is(err, locks.ErrBusy) {
			return held, err
		}
		if back := l.unlock(context.WithoutCancel(ctx), held); back != nil && !errors.Is(back, locks.ErrNotHeld) {
			return held, err
		}
		return held, locks.ErrBusy
	}, l.unlock}
}

func ignoresRefusal(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		held, err := l.obtain(ctx)
		if errors.Is(err, locks.ErrBusy) {
			err = nil
		}
		return held, err
	}, l.unlock}
}

func refusedThenLooked(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		held, err := l.obtain(ctx)
		if !errors.Is(err, locks.ErrBusy) {
			return held, err
		}
		if there, lookErr := l.node().Get(ctx, l.key).Result(); lookErr == nil && there == held.Token {
			return held, nil
		}
		return held, err
	}, l.unlock}
}
