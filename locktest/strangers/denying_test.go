package strangers

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

// falseFailures are locks that may report a failure although their command succeeded, or a grant although
// Redis refused it. The lock errors-taken-back is right, because it undoes the command before it reports the
// failure; the others that are right have found their own token.
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
		{ID: "script-answers-one", Doc: "Lua that answers 1 whatever its SET NX said, compare and delete", bind: of(answering("1"))},
		{ID: "script-answers-one-untold", Doc: "the same, and the lock tells no token", bind: of(untold(answering("1")))},
		{ID: "script-answers-own", Doc: "Lua that answers 1 if the key then has the client's token", Right: true, bind: of(answering("redis.call('get', KEYS[1]) == ARGV[1] and 1 or 0"))},
		{ID: "retry-taken-for-own", Doc: "SET NX PX, compare and delete; a client that got no answer asks again, and takes a refusal for its own key", bind: of(retriesBlindly)},
		{ID: "retry-looked", Doc: "the same, but after the refusal the client looks for its own token", Right: true, bind: of(retriesAndLooks)},
	}
}

func deniesRelease(l lease) locks.Lock {
	return steps{l.set, func(ctx context.Context, held locks.Lease) error {
		if err := l.unlock(ctx, held); err != nil {
			return err
		}
		return locks.ErrNotHeld
	}}
}

func errorsAsBusy(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		held, err := l.set(ctx)
		if err != nil {
			err = locks.ErrBusy
		}
		return held, err
	}, l.unlock}
}

func errorsTakenBack(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		held, err := l.set(ctx)
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
		held, err := l.set(ctx)
		if errors.Is(err, locks.ErrBusy) {
			err = nil
		}
		return held, err
	}, l.unlock}
}

func refusedThenLooked(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		held, err := l.set(ctx)
		if !errors.Is(err, locks.ErrBusy) {
			return held, err
		}
		if there, lookErr := l.node().Get(ctx, l.key).Result(); lookErr == nil && there == held.Token {
			return held, nil
		}
		return held, err
	}, l.unlock}
}

// answering takes the lock by a script that answers with this Lua expression.
func answering(answer string) func(l lease) locks.Lock {
	script := redis.NewScript("redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])\nreturn " + answer)
	return func(l lease) locks.Lock { return steps{l.take(script, l.key), l.unlock} }
}

// again makes a second attempt with the same token if the first got no answer. If Redis refused the second,
// own decides whether the key is the client's.
func (l lease) again(ctx context.Context, own func(context.Context, locks.Lease) bool) (locks.Lease, error) {
	held, err := l.set(ctx)
	if err == nil || errors.Is(err, locks.ErrBusy) {
		return held, err
	}
	ok, err := l.node().SetNX(ctx, l.key, held.Token, l.ttl).Result()
	if err == nil && !ok && !own(ctx, held) {
		err = locks.ErrBusy
	}
	return held, err
}

func retriesBlindly(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		return l.again(ctx, func(context.Context, locks.Lease) bool { return true })
	}, l.unlock}
}

func retriesAndLooks(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		return l.again(ctx, func(ctx context.Context, held locks.Lease) bool {
			there, err := l.node().Get(ctx, l.key).Result()
			return err == nil && there == held.Token
		})
	}, l.unlock}
}
