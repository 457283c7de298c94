package locks

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// setNXEXBoundedRenewal is D3's Java lock with a renewal thread. The thread sleeps a
// whole lease between renewals, so each but the first races the key's expiry; it ends
// after four, though the lock is held; and one flag per client stops it, so that
// releasing one lock ends the renewal of all others.
//
// ErrNotHeld if the release finds no key or another's token.
type setNXEXBoundedRenewal struct {
	client  *Client
	key     string
	ttl     time.Duration
	renewal *boundedRenewal
}

func init() {
	Register(Recipe{
		ID:       "set-nx-ex-bounded-renewal",
		Document: "D3",
		Summary:  "SET key token EX s NX · Lua: compare and delete · Lua: compare and EXPIRE at 0, TTL, 2 TTL and 3 TTL",
		Topology: Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			claims := oneNodeClaims("set-nx-ex-bounded-renewal", ttl, wholeSeconds(ttl), compareAndDelete, compareAndExpire)
			claims.Renews = true
			return claims
		},
		Flaws: setNXEXBoundedRenewalFlaws,
		New: withState(newBoundedRenewal, func(c *Client, r *boundedRenewal, key string, ttl time.Duration) (Lock, error) {
			return &setNXEXBoundedRenewal{client: c, key: key, ttl: ttl, renewal: r}, nil
		}),
	})
}

var setNXEXBoundedRenewalFlaws = flaws(
	renewalFailed(Bug,
		"A renewal every whole lease races the key's expiry and loses about every second time; the release of any other lock ends it, and so does the fourth.",
		"D3, renewal thread: it sleeps the whole lease", anyFault...),
	under([]string{mixed}, "foreign-renewal", Bug,
		"Whoever acquires raises the one flag again: the renewal of a lease whose release was lost, which sleeps, wakes and goes on.",
		"D3, renewal thread: one flag for all", "liveness"),
	leaseOutlived(), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
)

// TryLock implements Lock. LostC is nil: D3 ignores the renewal's replies.
func (l *setNXEXBoundedRenewal) TryLock(ctx context.Context) (Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	lease := Lease{Token: token}
	if err := setIfAbsent(ctx, l.client.Nodes[0], l.key, token, "EX", seconds(l.ttl), "NX"); err != nil {
		return lease, err
	}
	l.renewal.start(l.key, token, l.ttl)
	return lease, nil
}

// Unlock implements Lock: it stops all renewals of the client and releases.
func (l *setNXEXBoundedRenewal) Unlock(ctx context.Context, lease Lease) error {
	l.renewal.stop()
	return releaseOwned(ctx, l.client.Nodes[0], l.key, lease.Token)
}

// compareAndExpire is D3's owner-checked renewal: 1 if the key held the token
// and lives on for ARGV[2] seconds, 0 if it did not.
// KEYS[1] the lock, ARGV[1] the token, ARGV[2] seconds.
var compareAndExpire = newScript("compare-and-expire", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("EXPIRE", KEYS[1], ARGV[2])
end
return 0`)

const (
	// boundedRenewals is D3's default: renewed that many times, then no more.
	boundedRenewals = 4
	// failedRenewal is the least time that a failed renewal takes, about that of
	// a refused connection. go-redis fails at once, without dialling, when its
	// pool has failed often enough; the spin would then only heat the machine.
	failedRenewal = time.Millisecond
)

// boundedRenewal is D3's renewal of all locks of one client process.
type boundedRenewal struct {
	client *Client
	// open is the one stop flag: every acquisition raises it, every release
	// lowers it, for all keys.
	open atomic.Bool
}

func newBoundedRenewal(c *Client) (*boundedRenewal, error) { return &boundedRenewal{client: c}, nil }

// start renews key until four renewals, the stop flag or the client's end.
func (r *boundedRenewal) start(key, token string, ttl time.Duration) {
	r.open.Store(true)
	go r.run(r.client.Context, r.client.Nodes[0], key, token, ttl)
}

func (r *boundedRenewal) stop() { r.open.Store(false) }

// run renews at once and then after each sleep of a whole lease. It ignores the reply:
// a key that is lost, or another's, counts as renewed. An error skips both the count
// and the sleep: it spins.
func (r *boundedRenewal) run(ctx context.Context, c redis.Scripter, key, token string, ttl time.Duration) {
	for n := 0; n < boundedRenewals && r.open.Load() && ctx.Err() == nil; {
		pause := failedRenewal
		if compareAndExpire.Run(ctx, c, []string{key}, token, seconds(ttl)).Err() == nil {
			n++
			pause = wholeSeconds(ttl)
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}
