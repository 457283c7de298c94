package locks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// redisson is Redisson's RLock as D3 explains it: a hash of owner and count in Lua, a watchdog, and
// waiters that are woken by publish/subscribe. Where D3 and the library differ, the recipe follows
// the library. The library renews at a third of the lease; D3 renews every 30 s, a whole lease (see
// redisson-renews-each-lease). A release that is not the owner's last runs PEXPIRE in the library;
// in D3 it "returns directly". The recipe's lease time is the library's lockWatchdogTimeout, 30 s by
// default. redisson-lease has the explicit lease time, which disables the watchdog.
//
// There are four flaws: a failover loses the key; the holder is not told that a renewal failed; an
// entry that is retried after a lost reply counts twice; a waiter that misses a wake-up waits for
// the rest of the holder's lease.
//
// Unlock returns ErrNotHeld if it does not find the owner's field.
type redisson struct {
	handle
	node     Node
	owner    string
	every    time.Duration     // between two renewals
	timeout  time.Duration     // limits the command of one attempt; 0 = the client's limit
	renewals *redissonRenewals // nil: the lease time is explicit and nothing renews the lease
}

func init() {
	Register(Recipe{
		ID:        "redisson",
		Document:  "D3",
		Summary:   "Lua: free or own: HINCRBY key owner 1, PEXPIRE, else PTTL · Lua: HINCRBY key owner -1, PEXPIRE, at 0 DEL, PUBLISH and stop · every TTL/3 Lua: own: PEXPIRE",
		Topology:  Single,
		Claims:    claims("redisson", wholeMilliseconds, history.Claims{Reentrant: true, Renews: true}, redissonEnter, redissonLeave, redissonRenew),
		Flaws:     redissonFlaws,
		Unrenewed: "redisson-lease",
		New: withState(newRedissonRenewals, func(h handle, r *redissonRenewals) Lock {
			return &redisson{handle: h, node: h.node(), owner: r.owner, every: h.ttl / 3, renewals: r}
		}),
	})
}

var redissonFlaws = flaws(
	renewalFailed(Limit,
		"A watchdog that gets no answer for the better part of a lease gives up while its holder works on.",
		"Redisson, RedissonBaseLock: the renewal's failure is logged", "partition", "partition-requests", "delay"),
	keysInMovingSlot(), oversleeps(),
	may([]string{"partition", "partition-requests", "reset", "delay"}, under([]string{mixed}, "foreign-renewal", Bug,
		"A release stops the watchdog's timer, but not a renewal that is under way: if that renewal is sent again, it prolongs the entry of an owner whose release was lost.",
		"Redisson, RedissonBaseLock: cancelExpirationRenewal", "liveness")),
	leaseOutlived(), hungHolder("D3, of Redisson"), serverClock(), prolongedKey(), ownerFlaws("D3"), may([]string{"failover"}, orphanedEntry("D3", append(without(strandingFaults, "failover"), "client-pause"))),
)

// keysInMovingSlot returns the flaw of a release that names two keys: Redis Cluster may refuse it
// while the keys' slot moves to another node.
func keysInMovingSlot() []Flaw {
	return under([]string{slotMigration}, "orphaned-key", Limit,
		"The release names the lock and its channel: while their slot moves, a Redis Cluster refuses a command on several keys if one of them is missing (TRYAGAIN), and the entry stays.",
		"Redis Cluster specification: multi-key operations while a slot is resharded", "liveness")
}

// oversleeps returns the flaw of a waiter that believes the remaining life that a node tells. It shows only
// if no message wakes the waiter: the holder has crashed, or its release was lost.
func oversleeps() []Flaw {
	return under([]string{mixed}, "left-free", Bug,
		"A waiter sleeps for the remaining life that Redis told, if no message wakes it: told while the node's clock was set back, it sleeps on long after the key has expired.",
		"Redisson, RedissonLock: lock waits for a message or for the TTL that tryAcquire returned", "liveness")
}

// redissonEnter adds an entry and returns nil if the lock is free or the owner's. Otherwise it
// returns the remaining TTL of the lock in milliseconds.
// KEYS[1] is the lock, ARGV[1] the owner, ARGV[2] the lease in milliseconds.
var redissonEnter = newScript("redisson-enter", `
if redis.call("EXISTS", KEYS[1]) == 0 or redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then
  redis.call("HINCRBY", KEYS[1], ARGV[1], 1)
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
  return nil
end
return redis.call("PTTL", KEYS[1])`)

// redissonLeave removes one entry. It returns nil if the owner has no entry, 0 if the owner still
// has entries, and 1 if this was the last entry and the waiters were told.
// KEYS[1] is the lock, KEYS[2] its channel, ARGV[1] the owner, ARGV[2] the lease in milliseconds.
var redissonLeave = newScript("redisson-leave", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
  return nil
end
if redis.call("HINCRBY", KEYS[1], ARGV[1], -1) > 0 then
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
  return 0
end
redis.call("DEL", KEYS[1])
redis.call("PUBLISH", KEYS[2], 0)
return 1`)

// redissonRenew prolongs the owner's hold. It returns 1, or 0 if the owner has no hold.
// KEYS[1] is the lock, ARGV[1] the owner, ARGV[2] the lease in milliseconds.
var redissonRenew = newScript("redisson-renew", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)

// TryLock implements Lock. The lease's token is the owner's id. LostC is nil: the library logs a
// loss and does not tell the holder.
func (l *redisson) TryLock(ctx context.Context) (Lease, error) {
	lease, _, err := l.enter(ctx)
	return lease, err
}

// enter makes one attempt. If the lock is busy, wait is the remaining TTL of its key.
func (l *redisson) enter(ctx context.Context) (lease Lease, wait time.Duration, err error) {
	lease = Lease{Token: l.owner}
	if l.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, l.timeout)
		defer cancel()
		ctx = limited
	}
	pttl, err := redissonEnter.Run(ctx, l.node, []string{l.key}, l.owner, milliseconds(l.ttl)).Int64()
	switch {
	case errors.Is(err, redis.Nil): // entered
		if l.renewals != nil {
			l.renewals.enter(l.client.Context, l.key, l.every, l.renew)
		}
		return lease, 0, nil
	case err != nil:
		return lease, 0, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	return lease, time.Duration(pttl) * time.Millisecond, ErrBusy
}

// Lock implements Blocker. A waiter sleeps until a release is published or the reported remaining
// TTL of the key is over. A waiter that misses the message sleeps for that whole TTL.
func (l *redisson) Lock(ctx context.Context) (Lease, error) { return l.lockWithin(ctx, -1) }

// lockWithin is Lock with a time limit, after which it returns ErrBusy. A negative limit means
// no limit. The limit interrupts no command.
func (l *redisson) lockWithin(ctx context.Context, limit time.Duration) (Lease, error) {
	start := time.Now()
	lease, _, err := l.enter(ctx)
	if !errors.Is(err, ErrBusy) {
		return lease, err
	}
	master, err := masterOf(ctx, l.node, l.key)
	if err != nil {
		return Lease{}, fmt.Errorf("subscribe to %q: %w", l.channel(), err)
	}
	released := l.node.(redis.UniversalClient).Subscribe(ctx, l.channel())
	defer func() { _ = released.Close() }() // an error of unsubscribing does not matter
	// This receive has a command's read timeout. Receive alone would wait for ever.
	if _, err := released.ReceiveTimeout(ctx, master.Options().ReadTimeout); err != nil {
		return Lease{}, fmt.Errorf("subscribe to %q: %w", l.channel(), err)
	}
	for limit < 0 || time.Since(start) < limit {
		lease, wait, err := l.enter(ctx)
		if !errors.Is(err, ErrBusy) {
			return lease, err
		}
		if left := limit - time.Since(start); limit >= 0 && (wait < 0 || wait > left) {
			wait = max(left, 0)
		}
		if err := l.awaitRelease(ctx, released, wait); err != nil {
			return Lease{}, fmt.Errorf("%w: stopped waiting: %w", ErrBusy, err)
		}
	}
	return lease, fmt.Errorf("%w: not within %v", ErrBusy, limit)
}

// awaitRelease returns nil when a release was published, or after wait. A negative wait means that
// the key never expires: awaitRelease then waits without a limit, as the library does. It receives for
// short times, and after each checks ctx and the client process. It does not use PubSub.Channel, whose
// goroutine would interfere with Close.
func (l *redisson) awaitRelease(ctx context.Context, released *redis.PubSub, wait time.Duration) error {
	until := time.Now().Add(wait)
	for {
		slice := l.ttl / redissonRest
		if wait >= 0 {
			slice = min(slice, time.Until(until))
		}
		if slice <= 0 {
			return nil
		}
		received, err := released.ReceiveTimeout(ctx, slice)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case l.client.Context.Err() != nil:
			return l.client.Context.Err()
		}
		if _, published := received.(*redis.Message); published {
			return nil
		}
		var timeout net.Error
		if err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
			sleep(l.client.Context, slice) // the connection was lost; the next receive reconnects
		}
	}
}

// Unlock implements Lock: it removes one entry. After the last entry the renewal ends, whatever
// Redis answers.
func (l *redisson) Unlock(ctx context.Context, _ Lease) error {
	if l.renewals != nil {
		defer l.renewals.leave(l.key)
	}
	err := redissonLeave.Run(ctx, l.node, []string{l.key, l.channel()}, l.owner, milliseconds(l.ttl)).Err()
	switch {
	case errors.Is(err, redis.Nil):
		return ErrNotHeld
	case err != nil:
		return fmt.Errorf("release %q: %w", l.key, err)
	}
	return nil
}

func (l *redisson) channel() string { return "redisson_lock__channel:{" + l.key + "}" }

// The library sends a renewal up to four times. At a lease of 30 s it waits 3 s for a reply and
// then rests 1.5 s. Here both times scale with the lease.
const (
	redissonAttempts = 4
	redissonTimeout  = 10 // divisor of the lease
	redissonRest     = 20 // divisor of the lease
)

// renew prolongs the hold. It returns false, which ends the watchdog, if the owner no longer has the
// lock, if every attempt failed, or if the client process ends.
func (l *redisson) renew(process context.Context) bool {
	for range redissonAttempts {
		renewed, err := l.renewOnce(process)
		if err == nil {
			return renewed
		}
		if !sleep(process, l.ttl/redissonRest) {
			return false
		}
	}
	return false
}

func (l *redisson) renewOnce(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.ttl/redissonTimeout)
	defer cancel()
	return redissonRenew.Run(ctx, l.node, []string{l.key}, l.owner, milliseconds(l.ttl)).Bool()
}

// redissonRenewals is the library's "expiration renewal map" of one owner. For each lock it holds
// the number of known entries and their shared watchdog.
type redissonRenewals struct {
	owner string

	mu    sync.Mutex
	byKey map[string]*redissonRenewal
}

func newRedissonRenewals(c *Client) (*redissonRenewals, error) {
	owner, err := ownerID(c)
	return &redissonRenewals{owner: owner, byKey: map[string]*redissonRenewal{}}, err
}

// redissonRenewal is the renewal of one lock: the number of the owner's entries, and the watchdog
// that renews for all of them.
type redissonRenewal struct {
	entries int
	dog     *watchdog
}

// enter counts an entry and ensures that a watchdog runs. If it starts a new watchdog because the old
// one ended, the count begins again: earlier entries are forgotten.
func (r *redissonRenewals) enter(process context.Context, key string, interval time.Duration, renew func(context.Context) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	renewal := r.byKey[key]
	if renewal == nil || !renewal.dog.alive() {
		renewal = &redissonRenewal{dog: startWatchdog(process, interval, never, renew)}
		r.byKey[key] = renewal
	}
	renewal.entries++
}

// leave removes one entry from the count, and stops the watchdog after the last entry.
func (r *redissonRenewals) leave(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	renewal := r.byKey[key]
	if renewal == nil {
		return
	}
	if renewal.entries--; renewal.entries == 0 {
		renewal.dog.stop()
		delete(r.byKey, key)
	}
}
