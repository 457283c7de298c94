package locks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// redissonRedlock is org.redisson.RedissonRedLock, which D3 names: a multi-lock over N RLocks, one
// on each of N independent nodes. N-(N/2+1) of the nodes may fail. D3 does not show the library's
// code, so the recipe follows the library (RedissonMultiLock and RedissonRedLock at commit 66863978,
// the blocking methods). The recipe uses an explicit lease time, since RedLock is about leases that
// end: TryLock is tryLock(0, lease), Lock is lock(lease).
//
// lock(lease) draws a waiting time for each attempt (see Lock) and asks one node after another. Each
// node gets at most an N-th of the waiting time, and grants a preliminary lease of twice the waiting
// time. If too many nodes fail, the library starts again. If it has a majority when it has asked
// all nodes or when a node fails, it sets the lease of all its grants anew.
//
// There are three flaws. The library never compares the elapsed time with a lease, so the first
// grants of a majority may have expired before the last one arrives. Its PEXPIRE ignores the key's
// owner, and ignores the reply that the key is missing. One owner id serves all leases, so late
// commands take effect on a later lease. The lease has no deadline, because the library has none.
//
// The library waits 3 s for a reply and rests 1.5 s before it connects again. Both times scale with
// the lease, as in redisson. The recipe claims no re-entry: each RLock counts its own entries.
//
// A release always succeeds: the library ignores the results.
type redissonRedlock struct {
	handle
	redissonRedlockState
}

func init() {
	Register(Recipe{
		ID:       "redisson-redlock",
		Document: "D3",
		Summary:  "redisson's Lua on each node in turn with a lease of twice the waiting time, held by N/2+1, then Lua: PEXPIRE on those · redisson's Lua on all nodes, results ignored",
		Topology: Independent,
		// A client that crashes half-way leaves preliminary leases of twice the waiting time,
		// which is at most the lease time.
		Claims: claims("redisson-redlock", func(ttl time.Duration) time.Duration { return 2 * wholeMilliseconds(ttl) },
			history.Claims{Quorum: majority}, redissonEnter, redissonLeave, redissonExpire),
		Flaws: flaws(
			leaseOutlived(), workOutlived("D3"), quorumLostKey("node-restart", "eviction"), serverClock(), prolongedKey(), rarely("liveness", "orphaned-key", []string{"node-restart"}, orphanedQuorum()),
			may(without(anyFault, "failover", "split-brain", slotMigration), under([]string{"client-pause", "node-restart", "eviction"}, "foreign-renewal", Bug,
				"After the acquire a PEXPIRE that does not compare the owner sets the lease anew: on a node where the key is gone by then, it prolongs another's key.",
				"Redisson, RedissonMultiLock: expireAsync", "ownership")),
		),
		New: withState(newRedissonRedlockState, func(h handle, s redissonRedlockState) Lock { return &redissonRedlock{h, s} }),
	})
}

// redissonRedlockState is the state of one client process, for all keys.
type redissonRedlockState struct {
	owner  string
	random *lockedRand
}

func newRedissonRedlockState(c *Client) (redissonRedlockState, error) {
	owner, err := ownerID(c)
	if err != nil {
		return redissonRedlockState{}, err
	}
	var seed [32]byte
	if _, err := io.ReadFull(c.Rand, seed[:]); err != nil {
		return redissonRedlockState{}, fmt.Errorf("draw a seed of waiting times: %w", err)
	}
	return redissonRedlockState{owner, &lockedRand{r: rand.New(rand.NewChaCha8(seed))}}, nil
}

// lockedRand draws waiting times for all handles of a client.
type lockedRand struct {
	mu sync.Mutex
	r  *rand.Rand
}

// between draws a duration from the half-open interval [from, to). If the interval is empty, it
// returns its lower bound, from.
func (l *lockedRand) between(from, to time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return from + time.Duration(l.r.Int64N(max(1, int64(to-from))))
}

// redissonExpire is the library's expire. It returns 1, or 0 if there is no key.
// KEYS[1] is the lock, ARGV[1] the lease in milliseconds.
var redissonExpire = newScript("redisson-expire", `
return redis.call("PEXPIRE", KEYS[1], ARGV[1])`)

// TryLock implements Lock: one round without waiting.
func (l *redissonRedlock) TryLock(ctx context.Context) (Lease, error) { return l.tryFor(ctx, 0) }

// Lock implements Blocker. Each attempt draws its waiting time, as the library's lock does: from
// half a lease to a whole lease. If the lease is longer than 1.5 s per node, the waiting time is at
// least 1.5 s per node.
func (l *redissonRedlock) Lock(ctx context.Context) (Lease, error) {
	least := time.Duration(len(l.client.Nodes)) * 1500 * time.Millisecond
	if l.ttl <= least {
		least = l.ttl / 2
	}
	for {
		wait := l.random.between(least, l.ttl).Truncate(time.Millisecond)
		lease, err := l.tryFor(ctx, max(wait, time.Millisecond))
		if !errors.Is(err, ErrBusy) {
			return lease, err
		}
		// The caller's context may outlive the client process. A round that only found the lock
		// busy may not have noticed that one of the two contexts ended.
		if err := cmp.Or(ctx.Err(), l.client.Context.Err()); err != nil {
			return lease, fmt.Errorf("%w: stopped waiting: %w", ErrBusy, err)
		}
	}
}

// tryFor is the library's tryLock(wait, lease). With a wait of 0 it makes one round over the nodes.
// If ctx ends meanwhile, tryFor releases all acquired locks and returns ctx's error.
func (l *redissonRedlock) tryFor(ctx context.Context, wait time.Duration) (Lease, error) {
	preliminary := l.ttl
	if wait > 0 {
		preliminary = 2 * wait
	}
	all := l.rlocks(preliminary)
	mayFail := len(all) - (len(all)/2 + 1)
	each, left, then := max(wait/time.Duration(len(all)), time.Millisecond), wait, l.client.Now().UnixMilli()
	lease := Lease{Token: l.owner}
	var acquired []*redisson
	for i, spare := 0, mayFail; i < len(all); i++ {
		switch {
		case l.ask(ctx, all[i], min(each, left)):
			acquired = append(acquired, all[i])
		case len(all)-len(acquired) == mayFail:
			return lease, l.setLease(ctx, acquired)
		case spare > 0:
			spare--
		default:
			l.release(ctx, acquired)
			if wait <= 0 {
				return lease, fmt.Errorf("%w: too many nodes refused", ErrBusy)
			}
			i, spare, acquired = -1, mayFail, nil
		}
		if err := ctx.Err(); err != nil {
			l.release(ctx, acquired)
			return lease, fmt.Errorf("acquire %q: %w", l.key, err)
		}
		if wait <= 0 {
			continue
		}
		now := l.client.Now().UnixMilli()
		left, then = left-time.Duration(now-then)*time.Millisecond, now
		if left <= 0 {
			l.release(ctx, acquired)
			return lease, fmt.Errorf("%w: not within %v", ErrBusy, wait)
		}
	}
	return lease, l.setLease(ctx, acquired)
}

// rlocks returns the library's RLock of each node, with this lease time.
func (l *redissonRedlock) rlocks(lease time.Duration) []*redisson {
	all := make([]*redisson, len(l.client.Nodes))
	for i, node := range l.client.Nodes {
		all[i] = &redisson{handle: handle{l.client, l.key, lease}, node: node, owner: l.owner, timeout: l.ttl / redissonTimeout}
	}
	return all
}

// ask is the library's tryLock of one RLock, and reports whether the node granted the lock. If wait
// is positive, ask waits for a busy lock. If no reply comes in time, ask releases the lock. If the
// connection breaks, ask does not release the lock.
func (l *redissonRedlock) ask(ctx context.Context, lock *redisson, wait time.Duration) bool {
	var err error
	if wait > 0 {
		_, err = lock.lockWithin(ctx, wait)
	} else {
		_, err = lock.TryLock(ctx)
	}
	var timeout net.Error
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrBusy):
	case errors.As(err, &timeout) && timeout.Timeout():
		l.release(ctx, []*redisson{lock})
	default:
		sleep(ctx, l.ttl/redissonRest)
	}
	return false
}

// setLease starts the lease of all acquired locks anew, from now, without checking the keys'
// owners. If any node fails, the outcome is unknown. setLease then releases nothing, like the
// library.
func (l *redissonRedlock) setLease(ctx context.Context, acquired []*redisson) error {
	err := l.onAll(ctx, acquired, func(ctx context.Context, lock *redisson) error {
		return redissonExpire.Run(ctx, lock.node, []string{l.key}, milliseconds(l.ttl)).Err()
	})
	if err != nil {
		return fmt.Errorf("set the lease of %q: %w", l.key, err)
	}
	return nil
}

// release is the library's unlockInner: it releases all locks at once and waits for the replies. It
// ignores the results and the end of ctx.
func (l *redissonRedlock) release(ctx context.Context, held []*redisson) {
	_ = l.onAll(context.WithoutCancel(ctx), held, func(ctx context.Context, lock *redisson) error {
		return lock.Unlock(ctx, Lease{})
	})
}

// onAll calls do for all locks at once and waits for all calls. All calls end after at most a tenth
// of the lease. The returned errors are joined in the order of the locks.
func (l *redissonRedlock) onAll(ctx context.Context, all []*redisson, do func(ctx context.Context, lock *redisson) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.ttl/redissonTimeout)
	defer cancel()
	var wg sync.WaitGroup
	failed := make([]error, len(all))
	for i, lock := range all {
		wg.Go(func() { failed[i] = do(ctx, lock) })
	}
	wg.Wait()
	return errors.Join(failed...)
}

// Unlock implements Lock.
func (l *redissonRedlock) Unlock(ctx context.Context, _ Lease) error {
	l.release(ctx, l.rlocks(l.ttl))
	return nil
}
