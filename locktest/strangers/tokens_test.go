package strangers

import (
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"math/rand"
	"strconv"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

// tokens are locks that differ in how they draw the token or set the expiry.
func tokens() []Stranger {
	drawn := func(draw func() (string, error)) func(*locks.Client) maker {
		return of(func(l lease) locks.Lock { return drawnToken(l, draw) })
	}
	return []Stranger{
		{ID: "token-crypto-rand", Doc: "SET NX PX with a token from crypto/rand", Right: true, bind: drawn(func() (string, error) {
			b := make([]byte, 16)
			_, err := crand.Read(b)
			return hex.EncodeToString(b), err
		})},
		{ID: "token-uuid", Doc: "SET NX PX with a random UUID", Right: true, bind: drawn(func() (string, error) { return uuid.NewString(), nil })},
		{ID: "token-math-rand", Doc: "SET NX PX with a token from math/rand", Right: true, bind: drawn(func() (string, error) {
			return strconv.FormatInt(rand.Int63(), 36), nil
		})},
		{
			ID: "absolute-life", Doc: "SET NX PXAT with the lease's end by the client's clock: a clock that is behind gives a shorter TTL, or none",
			bind: of(absoluteLife),
		},
	}
}

// drawnToken acquires with SET NX PX and releases with compare-and-delete.
func drawnToken(l lease, draw func() (string, error)) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		token, err := draw()
		if err != nil {
			return locks.Lease{}, err
		}
		return locks.Lease{Token: token}, granted(setNX(ctx, l, token))
	}, l.unlock}
}

// absoluteLife sets the key to expire at an instant of the client's clock, which may differ from
// the node's clock.
func absoluteLife(l lease) locks.Lock {
	return steps{func(ctx context.Context) (locks.Lease, error) {
		until := l.c.Now().Add(l.ttl)
		held, err := l.attempt(func(token string) *redis.Cmd {
			return l.node().Do(ctx, "SET", l.key, token, "NX", "PXAT", until.UnixMilli())
		})
		held.Deadline = until
		return held, err
	}, l.unlock}
}
