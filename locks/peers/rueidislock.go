package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis/rueidislock"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

const rueidislockPackage = "github.com/redis/rueidis/rueidislock"

// rueidislockVariant is a way to configure rueidislock.
type rueidislockVariant struct {
	suffix, what string
	set          func(o *rueidislock.LockerOption)
	flaws        []locks.Flaw
	blocks       bool // the lock waits in the library
}

var rueidislockVariants = []rueidislockVariant{
	{suffix: "", what: "KeyMajority 1", flaws: lateLoss},
	{suffix: "-wait", what: "KeyMajority 1, WithContext", blocks: true},
	{suffix: "-majority", what: "the default KeyMajority 2 of three keys", set: func(o *rueidislock.LockerOption) { o.KeyMajority = 2 }, flaws: lateLoss},
	{suffix: "-noloop", what: "KeyMajority 1, NoLoopTracking", set: func(o *rueidislock.LockerOption) { o.NoLoopTracking = true }},
	{suffix: "-untracked", what: "KeyMajority 1, DisableCache", set: func(o *rueidislock.LockerOption) { o.ClientOption.DisableCache = true }, flaws: lateLoss},
	{suffix: "-setpx", what: "KeyMajority 1, FallbackSETPX", set: func(o *rueidislock.LockerOption) { o.FallbackSETPX = true }},
	{suffix: "-often", what: "KeyMajority 1, ExtendInterval TTL/10", set: func(o *rueidislock.LockerOption) { o.ExtendInterval = o.KeyValidity / 10 }},
	{suffix: "-seldom", what: "KeyMajority 1, ExtendInterval 9/10 TTL", set: func(o *rueidislock.LockerOption) { o.ExtendInterval = o.KeyValidity * 9 / 10 }},
}

// lateLoss is a bug that campaigns found in the variants that list it. The other variants run the same
// code, but campaigns did not find it there.
var lateLoss = measured("renewal-failed",
	"The library waits for a renewal's answer until the new deadline, half a lease after the key has expired; the context lives that long.",
	"https://pkg.go.dev/"+rueidislockPackage, []string{"delay"}, "exclusion")

func rueidislockRecipes() []locks.Recipe {
	var all []locks.Recipe
	for _, v := range rueidislockVariants {
		all = append(all, v.recipe())
	}
	return all
}

// recipe returns the variant as a recipe.
//
// The documentation claims that the context of WithContext and TryWithContext "will be canceled
// automatically and immediately once the KeyMajority is not held anymore", and that KeyValidity
// "will be extended periodically".
func (v rueidislockVariant) recipe() locks.Recipe {
	return library(locks.Recipe{
		ID:      "rueidislock" + v.suffix,
		Library: rueidislockPackage,
		Summary: "redis/rueidis rueidislock, " + v.what + ": Lua: SET NX PXAT · Lua: compare and delete · every TTL/2 Lua: compare and PEXPIREAT",
		Flaws:   append(locks.Limits(locks.Known{Renews: true}), v.flaws...),
	}, func(c *history.Claims, _ int) {
		c.Renews = true
		if m := int(v.option(c.TTL).KeyMajority); m > 1 {
			c.Quorum, c.QuorumOf = m, history.QuorumOfKeys
		}
	}, v.lock)
}

// option returns the variant's options, without address and dialer.
func (v rueidislockVariant) option(ttl time.Duration) rueidislock.LockerOption {
	o := rueidislock.LockerOption{KeyValidity: ttl, KeyMajority: 1}
	if v.set != nil {
		v.set(&o)
	}
	return o
}

func (v rueidislockVariant) lock(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
	o := v.option(ttl)
	o.ClientOption.InitAddress = c.Addrs[:1]
	o.ClientOption.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return c.Dial(ctx, "tcp", addr)
	}
	o.ClientOption.ForceSingleClient = true // otherwise the library first looks for a cluster
	locker, err := rueidislock.NewLocker(o)
	if err != nil {
		return nil, fmt.Errorf("make a locker: %w", err)
	}
	context.AfterFunc(c.Context, locker.Close)
	l := &rueidislockLock{locker: locker, key: key, process: c.Context}
	if v.blocks {
		return rueidislockWaits{l}, nil
	}
	return l, nil
}

// rueidislockLock is github.com/redis/rueidis/rueidislock on one node. The library has 2*KeyMajority-1
// keys for one lock and sets each by SET NX PXAT, with an absolute expiry, or by SET NX PX
// (FallbackSETPX). For each key a goroutine of the library extends the expiry after each interval
// (ExtendInterval). If the node reports a change of the key (client-side caching), the goroutine at
// once sets the current expiry again, and so learns whether the key is still its own. The release
// compares and deletes. The library has its own Redis client.
//
// The library reports the loss of a lock, but not the result of a release.
type rueidislockLock struct {
	locker rueidislock.Locker
	key    string
	// process is the client process's context and the parent of each acquisition's context. The
	// library gives a lock up when the context of its acquisition ends.
	process context.Context
	giveUp  sync.Map // of context.CancelFunc: functions that release a lock, by the lease's LostC
}

// rueidislockWaits is a rueidislockLock that waits for a busy lock: the library tries again whenever
// the node reports a change of one of the lock's keys.
type rueidislockWaits struct{ *rueidislockLock }

var _ locks.Blocker = rueidislockWaits{}

// TryLock implements locks.Lock. It ignores its context: the library needs a context that lives as
// long as the lock, and the library itself limits the wait for a reply.
func (l *rueidislockLock) TryLock(context.Context) (locks.Lease, error) {
	ctx, giveUp, err := l.locker.TryWithContext(l.process, l.key)
	return l.acquired(ctx, giveUp, err)
}

// Lock implements locks.Blocker. The library gives a lock up when the context of its acquisition ends, so
// Lock passes a context that outlives the call. The end of ctx cancels that context only until the lock
// is held.
func (l rueidislockWaits) Lock(ctx context.Context) (locks.Lease, error) {
	lockCtx, end := context.WithCancel(l.process)
	stop := context.AfterFunc(ctx, end)
	held, giveUp, err := l.locker.WithContext(lockCtx, l.key)
	if err != nil {
		end()
		return l.acquired(held, giveUp, err)
	}
	if !stop() { // ctx ended while the lock was granted
		giveUp()
		return locks.Lease{}, fmt.Errorf("acquire %q: %w", l.key, ctx.Err())
	}
	return l.acquired(held, func() { giveUp(); end() }, nil)
}

// acquired maps the result of an acquisition and keeps giveUp for the release.
func (l *rueidislockLock) acquired(ctx context.Context, giveUp context.CancelFunc, err error) (locks.Lease, error) {
	switch {
	case errors.Is(err, rueidislock.ErrNotLocked):
		return locks.Lease{}, locks.ErrBusy
	case err != nil:
		return locks.Lease{}, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	l.giveUp.Store(ctx.Done(), giveUp)
	return locks.Lease{LostC: ctx.Done()}, nil
}

// Unlock implements locks.Lock. Nil means that the library has tried to release the lock.
// ErrNotHeld means that the library had lost the lock, or that the lease was released before.
func (l *rueidislockLock) Unlock(_ context.Context, held locks.Lease) error {
	giveUp, known := l.giveUp.LoadAndDelete(held.LostC)
	lost := false
	select {
	case <-held.LostC:
		lost = true
	default:
	}
	if known {
		giveUp.(context.CancelFunc)()
	}
	if lost || !known {
		return locks.ErrNotHeld
	}
	return nil
}
