package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go/valkeylock"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

const valkeylockPackage = "github.com/valkey-io/valkey-go/valkeylock"

// valkeylockVariant is a way to configure valkeylock.
type valkeylockVariant struct {
	suffix, what string
	set          func(o *valkeylock.LockerOption)
}

var valkeylockVariants = []valkeylockVariant{
	{suffix: "", what: "KeyMajority 1"},
	{suffix: "-majority", what: "the default KeyMajority 2 of three keys", set: func(o *valkeylock.LockerOption) { o.KeyMajority = 2 }},
	{suffix: "-untracked", what: "KeyMajority 1, DisableCache", set: func(o *valkeylock.LockerOption) { o.ClientOption.DisableCache = true }},
	{suffix: "-often", what: "KeyMajority 1, ExtendInterval TTL/10", set: func(o *valkeylock.LockerOption) { o.ExtendInterval = o.KeyValidity / 10 }},
	{suffix: "-seldom", what: "KeyMajority 1, ExtendInterval 9/10 TTL", set: func(o *valkeylock.LockerOption) { o.ExtendInterval = o.KeyValidity * 9 / 10 }},
}

func valkeylockRecipes() []locks.Recipe {
	var all []locks.Recipe
	for _, v := range valkeylockVariants {
		all = append(all, v.recipe())
	}
	return all
}

// recipe returns the variant's recipe. Its claims are those of the documentation, which are the
// same as rueidislock's: the context "will be canceled automatically and immediately once the
// KeyMajority is not held anymore", and KeyValidity "will be extended periodically".
func (v valkeylockVariant) recipe() locks.Recipe {
	id := "valkeylock" + v.suffix
	return locks.Recipe{
		ID:       id,
		Document: "https://pkg.go.dev/" + valkeylockPackage,
		Library:  valkeylockPackage,
		Summary:  "valkey-go v1.0.79 valkeylock, " + v.what + ": Lua: SET NX PXAT · Lua: compare and delete · every TTL/2 Lua: compare and PEXPIREAT",
		Topology: locks.Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			c := promises(id, ttl, ttl)
			c.Renews = true
			if m := int(v.option(ttl).KeyMajority); m > 1 {
				c.Quorum, c.QuorumOf = m, history.QuorumOfKeys
			}
			return c
		},
		Flaws: append(locks.Limits(locks.Known{Renews: true}), measured("renewal-failed",
			"The library waits for a renewal's answer until the new deadline, half a lease after the key has expired; the context lives that long.",
			"https://pkg.go.dev/"+valkeylockPackage, []string{"delay"}, "exclusion")...),
		New: perKey(func(c *locks.Client) (*locks.Client, error) { return c, nil }, v.lock),
	}
}

// option returns the variant's options, without address and dialer.
func (v valkeylockVariant) option(ttl time.Duration) valkeylock.LockerOption {
	o := valkeylock.LockerOption{KeyValidity: ttl, KeyMajority: 1}
	if v.set != nil {
		v.set(&o)
	}
	return o
}

func (v valkeylockVariant) lock(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
	o := v.option(ttl)
	o.ClientOption.InitAddress = c.Addrs[:1]
	o.ClientOption.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return c.Dial(ctx, "tcp", addr)
	}
	o.ClientOption.ForceSingleClient = true // otherwise the library first looks for a cluster
	locker, err := valkeylock.NewLocker(o)
	if err != nil {
		return nil, fmt.Errorf("make a locker: %w", err)
	}
	context.AfterFunc(c.Context, locker.Close)
	return &valkeylockLock{locker: locker, key: key, process: c.Context, giveUp: map[<-chan struct{}]context.CancelFunc{}}, nil
}

// valkeylockLock is valkeylock on one node. The library has its own client, and renews the lock by
// itself. The library reports the loss of a lock, but not the result of a release.
type valkeylockLock struct {
	locker valkeylock.Locker
	key    string
	// process is the client process's context. It is also the context of each acquisition, because
	// the library's lock ends with the context of its acquisition.
	process context.Context

	mu     sync.Mutex
	giveUp map[<-chan struct{}]context.CancelFunc // release functions, by the lease's LostC
}

// TryLock implements locks.Lock. It ignores its context: the library needs a context that lives as
// long as the lock, and the library itself limits the wait for a reply.
func (l *valkeylockLock) TryLock(context.Context) (locks.Lease, error) {
	ctx, giveUp, err := l.locker.TryWithContext(l.process, l.key)
	switch {
	case errors.Is(err, valkeylock.ErrNotLocked):
		return locks.Lease{}, fmt.Errorf("%w: %w", locks.ErrBusy, err)
	case err != nil:
		return locks.Lease{}, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveUp[ctx.Done()] = giveUp
	return locks.Lease{LostC: ctx.Done()}, nil
}

// Unlock implements locks.Lock. Nil means that the library has tried to release the lock.
// ErrNotHeld means that the library had lost the lock, or that the lease was released before.
func (l *valkeylockLock) Unlock(_ context.Context, lease locks.Lease) error {
	l.mu.Lock()
	giveUp := l.giveUp[lease.LostC]
	delete(l.giveUp, lease.LostC)
	l.mu.Unlock()
	if giveUp == nil {
		return locks.ErrNotHeld
	}
	lost := isDone(lease.LostC)
	giveUp()
	if lost {
		return locks.ErrNotHeld
	}
	return nil
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
