package locks

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// setNXEXRetry is D3's lock with every command sent through D3's RedisUtil, whose execute repeats a
// call once after a connection error. The flaw: if a SET NX ran but its reply was lost, its
// repetition is refused. The client hears that the lock is busy and does not release. The client's
// own key keeps everybody out, the client included, until it expires. A GET could have shown the
// client that the key holds its own token.
//
// A repeated release may find no key because the first release removed it, though its reply was
// lost. ErrNotHeld is right in that case too.
type setNXEXRetry struct{ handle }

func init() {
	Register(Recipe{
		ID:       "set-nx-ex-retry",
		Document: "D3",
		Summary:  "SET key token EX s NX · Lua: compare and delete · each sent once more after a connection error",
		Topology: Single,
		Claims:   claims("set-nx-ex-retry", wholeSeconds, history.Claims{}, compareAndDelete),
		Flaws:    setNXEXRetryFlaws,
		New:      onOneNode(func(h handle) (Lock, error) { return &setNXEXRetry{h}, nil }),
	})
}

var setNXEXRetryFlaws = flaws(
	under(lostReplies, "orphaned-key", Bug,
		"A SET NX whose reply was lost refuses its own repetition: the client hears of a busy lock, and its own key keeps everybody out until it expires.",
		"D3, RedisUtil: execute calls again after a JedisConnectionException", "liveness"),
	may([]string{"partition", "partition-requests"}, orphanedUnder([]string{"client-crash", "client-pause", "partition-replies",
		"node-pause", "node-restart", "failover", "split-brain"})),
	leaseOutlived(), workOutlived("D3"), serverClock(), prolongedKey(), serverLostKey(),
)

// TryLock implements Lock. ErrBusy is Redis's last answer. After a repetition the key may be this
// attempt's own, so the error is also ErrPresumed.
func (l *setNXEXRetry) TryLock(ctx context.Context) (Lease, error) {
	var lost error // the error of the first call
	return l.withToken(func(token string) error {
		return execute(ctx, func() error {
			err := setIfAbsent(ctx, l.node(), l.key, token, "EX", seconds(l.ttl), "NX")
			if lost != nil && errors.Is(err, ErrBusy) {
				return presumed(lost)
			}
			lost = err
			return err
		})
	})
}

// Unlock implements Lock.
func (l *setNXEXRetry) Unlock(ctx context.Context, lease Lease) error {
	return execute(ctx, func() error { return releaseOwned(ctx, l.node(), l.key, lease.Token) })
}

// execute is RedisUtil.execute: it calls once, and once more after a connection error. A failed dial
// does not count as a connection error, because D3's pool dials before execute makes the call.
func execute(ctx context.Context, call func() error) error {
	err := call()
	if connectionLost(err) && ctx.Err() == nil {
		return call()
	}
	return err
}

// connectionLost reports whether a command may have been sent and got no reply.
func connectionLost(err error) bool {
	var (
		answered redis.Error
		dial     *net.OpError
	)
	switch {
	case err == nil, errors.Is(err, ErrBusy), errors.Is(err, ErrNotHeld), errors.As(err, &answered):
		return false
	case errors.As(err, &dial) && dial.Op == "dial":
		return false
	}
	return true
}
