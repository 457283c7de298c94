package locks

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// setNXEXBoundedRenewal is D3's Java lock with a renewal thread. It has four flaws. The thread
// sleeps a whole lease between renewals, so each renewal but the first races the key's expiry. The
// thread ends after four renewals, even if the lock is still held. Each client has one stop flag,
// so the release of one lock ends the renewal of all others. Each client has ten renewal threads,
// and the thread of a released lock stays occupied while it sleeps, so an eleventh lock may have to
// wait for a thread.
//
// D3 only logs errors. So TryLock returns ErrBusy after an error too (then also ErrPresumed), and
// Unlock always returns nil.
type setNXEXBoundedRenewal struct {
	handle
	renewal *boundedRenewal
}

func init() {
	Register(Recipe{
		ID:        "set-nx-ex-bounded-renewal",
		Document:  "D3",
		Summary:   "SET key token EX s NX · Lua: compare and delete · Lua: compare and EXPIRE at 0, TTL, 2 TTL and 3 TTL",
		Topology:  Single,
		Claims:    claims("set-nx-ex-bounded-renewal", wholeSeconds, history.Claims{Renews: true}, compareAndDelete, compareAndExpire),
		Flaws:     setNXEXBoundedRenewalFlaws,
		Unrenewed: "set-nx-px",
		New:       withState(newBoundedRenewal, func(h handle, r *boundedRenewal) Lock { return &setNXEXBoundedRenewal{h, r} }),
	})
}

var setNXEXBoundedRenewalFlaws = flaws(
	boundedRenewalFails(), leaseOutlived(), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
)

// boundedRenewalFails returns the flaws of D3's renewal: it comes late, ends early, or continues
// after the lease is over.
func boundedRenewalFails() []Flaw {
	return flaws(
		renewalFailed(Bug,
			"A renewal once in a lease races the key's expiry and loses about every second time; the renewals end after the fourth, or at the release of any other lock; an eleventh lock waits for a thread, since released locks keep theirs.",
			"D3, renewal thread: it sleeps the whole lease (workload mutex), and one flag stops it for all keys (workload two-locks)", anyFault...),
		may(strandingFaults, under([]string{mixed}, "foreign-renewal", Bug,
			"Every acquire sets the one flag again: the sleeping renewal of a lease whose release was lost wakes and goes on.",
			"D3, renewal thread: one flag for all", "liveness")),
	)
}

// TryLock implements Lock. LostC is nil: D3 ignores the renewal's replies.
func (l *setNXEXBoundedRenewal) TryLock(ctx context.Context) (Lease, error) {
	return l.withToken(func(token string) error {
		if err := setOrBusy(ctx, l.node(), l.key, token, l.ttl); err != nil {
			return err
		}
		l.renewal.start(l.key, token, l.ttl)
		return nil
	})
}

// Unlock implements Lock: it stops all renewals of the client, then releases the lock.
func (l *setNXEXBoundedRenewal) Unlock(ctx context.Context, lease Lease) error {
	l.renewal.stop()
	releaseRegardless(ctx, l.node(), l.key, lease.Token)
	return nil
}

// setOrBusy is D3's SET key token EX s NX. It returns nil or ErrBusy. After an error D3 logs the
// error and says that the lock was not acquired, although the command may have run. In that case
// the returned error is both ErrBusy and ErrPresumed.
func setOrBusy(ctx context.Context, c Node, key, token string, ttl time.Duration) error {
	err := setIfAbsent(ctx, c, key, token, "EX", seconds(ttl), "NX")
	if err != nil && !errors.Is(err, ErrBusy) {
		return presumed(err)
	}
	return err
}

// releaseRegardless is D3's release: it compares and deletes, and ignores both reply and error.
func releaseRegardless(ctx context.Context, c redis.Scripter, key, token string) {
	_ = releaseOwned(ctx, c, key, token)
}

// compareAndExpire is D3's owner-checked renewal. If the key holds the token, the script sets the
// key's TTL to ARGV[2] seconds and returns 1; else it returns 0.
// KEYS[1] is the lock, ARGV[1] the token, ARGV[2] the lease in seconds.
var compareAndExpire = newScript("compare-and-expire", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("EXPIRE", KEYS[1], ARGV[2])
end
return 0`)

const (
	// boundedRenewals is D3's default number of renewals.
	boundedRenewals = 4
	// mostRenewals is the size of D3's pool of threads.
	mostRenewals = 10
	// failedRenewal is the pause after a failed renewal, about as long as a refused connection
	// takes. D3 does not pause. But after many failures go-redis fails at once, without dialling,
	// and a loop without a pause would only burn CPU.
	failedRenewal = time.Millisecond
	// oversleep is added to each sleep, because any real sleep ends a little late. On a virtual
	// clock, the renewal and its holder sleep for round times. Without oversleep both could wake at
	// the same instant, in an undefined order.
	oversleep = time.Nanosecond
)

// renewalThreads is D3's pool of threads. If all threads are busy, further tasks wait in a queue, even
// for longer than the leases that they are to renew. Tasks end soon after the client process.
type renewalThreads struct {
	mu    sync.Mutex
	busy  int
	queue []func()
}

// submit runs the task on a free thread, or appends it to the queue if there is none.
func (p *renewalThreads) submit(task func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy == mostRenewals {
		p.queue = append(p.queue, task)
		return
	}
	p.busy++
	go func() {
		for ; task != nil; task = p.next() {
			task()
		}
	}()
}

// next takes the next task from the queue. If the queue is empty, it frees the thread and returns
// nil.
func (p *renewalThreads) next() (task func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.busy--
		return nil
	}
	task, p.queue = p.queue[0], p.queue[1:]
	return task
}

// boundedRenewal is D3's renewal of all locks of one client process.
type boundedRenewal struct {
	client *Client
	// open is the only flag, for all keys: every acquisition sets it; every release clears it,
	// which stops all renewals.
	open    atomic.Bool
	threads renewalThreads
}

func newBoundedRenewal(c *Client) (*boundedRenewal, error) { return &boundedRenewal{client: c}, nil }

// start renews key in the background, as soon as a thread is free. The task ends after four
// renewals, when it finds open cleared, or with the client process.
func (r *boundedRenewal) start(key, token string, ttl time.Duration) {
	r.open.Store(true)
	r.threads.submit(func() { r.run(r.client.Context, r.client.Nodes[0], key, token, ttl) })
}

func (r *boundedRenewal) stop() { r.open.Store(false) }

// run renews at once and then after each sleep of a whole lease. It checks open only before a
// renewal, so the task of a released lock sleeps on. It ignores the reply: a lost key, or
// another client's key, counts as renewed. After an error it does not sleep for a lease, and does
// not count the renewal: it tries again after failedRenewal.
func (r *boundedRenewal) run(ctx context.Context, c redis.Scripter, key, token string, ttl time.Duration) {
	for n := 0; n < boundedRenewals && r.open.Load() && ctx.Err() == nil; {
		pause := failedRenewal
		if compareAndExpire.Run(ctx, c, []string{key}, token, seconds(ttl)).Err() == nil {
			n++
			pause = wholeSeconds(ttl)
		}
		if !sleep(ctx, pause+oversleep) {
			return
		}
	}
}
