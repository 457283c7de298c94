package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/stores/redis"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// goZeroVariant is a way to use go-zero's RedisLock, or a promise of its documentation, taken
// literally.
type goZeroVariant struct {
	id, what string
	// shared: a client uses one RedisLock for all its acquisitions; otherwise it makes one
	// RedisLock for each acquisition.
	shared bool
	// unset: the client does not call SetExpire, whatever lease it asks for.
	unset bool
	// also adds claims of the documentation beyond those of a plain lease.
	also func(*history.Claims)
}

const (
	goZeroDocs = "https://go-zero.dev/en/docs/tutorials/redis/redis-lock"
	// goZeroTolerance is the time that the library adds to the lease of SetExpire.
	goZeroTolerance = 500 * time.Millisecond
)

// goZeroVariants are readings of the documentation, which says "Can reenter, automatic renewal",
// and "Default expiration time of 1500 ms". In the plain variant, acquiring again prolongs the
// lease. Each of the other variants takes one of these promises literally.
var goZeroVariants = []goZeroVariant{
	{id: "go-zero", what: "a RedisLock for each acquisition"},
	{id: "go-zero-reentrant", what: `one RedisLock for all acquisitions of a client ("can reenter")`, shared: true,
		also: func(c *history.Claims) { c.Reentrant = true }},
	{id: "go-zero-renewal", what: `a RedisLock for each acquisition ("automatic renewal")`,
		also: func(c *history.Claims) { c.Renews = true }},
	{id: "go-zero-unset", what: `no SetExpire ("default expiration time of 1500 ms"; run it with --ttl 1500ms)`, unset: true},
}

func goZeroRecipes() []locks.Recipe {
	var all []locks.Recipe
	for _, v := range goZeroVariants {
		all = append(all, v.recipe())
	}
	return all
}

func (v goZeroVariant) recipe() locks.Recipe {
	return locks.Recipe{
		ID:       v.id,
		Document: goZeroDocs,
		Library:  "github.com/zeromicro/go-zero",
		Summary:  "go-zero v1.10.3 core/stores/redis, " + v.what + ": Lua: SET NX PX, or SET PX if it has the value · Lua: compare and delete · on demand acquire again",
		Topology: locks.Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			c := promises(v.id, ttl, max(ttl, v.life(ttl)))
			c.Extends = true
			if v.also != nil {
				v.also(&c)
			}
			return c
		},
		Flaws: v.flaws(),
		New:   perKey(goZeroStore, v.lock),
	}
}

// seconds rounds a lease up to whole seconds, the unit of SetExpire.
func (v goZeroVariant) seconds(ttl time.Duration) int {
	if v.unset {
		return 0
	}
	return int((ttl + time.Second - 1) / time.Second)
}

// life returns how long the library lets a key live.
func (v goZeroVariant) life(ttl time.Duration) time.Duration {
	return time.Duration(v.seconds(ttl))*time.Second + goZeroTolerance
}

// goZeroClients counts the calls of goZeroStore in this process, so that each client gets an
// address of its own.
var goZeroClients atomic.Int64

// goZeroStore makes a client as the library does: with three retries and go-redis's own timeouts.
// The library keeps one client for each address and never closes it while the process lives. So
// each client process has an address of its own here, and a hook dials the node.
func goZeroStore(c *locks.Client) (*redis.Redis, error) {
	name := fmt.Sprintf("%s#%d", c.Addrs[0], goZeroClients.Add(1))
	store, err := redis.NewRedis(redis.RedisConf{Host: name, Type: redis.NodeType, NonBlock: true}, redis.WithHook(goZeroHook{c}))
	if err != nil {
		return nil, fmt.Errorf("make go-zero's client: %w", err)
	}
	return store, nil
}

// goZeroHook is a hook of go-redis. It makes the connections. It also reads the random value from
// the commands, because the library does not return that value.
type goZeroHook struct{ client *locks.Client }

// DialHook implements redis.Hook.
func (h goZeroHook) DialHook(redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		if err := h.client.Context.Err(); err != nil {
			return nil, fmt.Errorf("the client process has ended: %w", err)
		}
		return h.client.Dial(ctx, network, h.client.Addrs[0])
	}
}

// sentValue is a context key. Its value is a *string that receives the random value of the command.
type sentValue struct{}

// ProcessHook implements redis.Hook. It reads the value from EVALSHA sha 1 key value ….
func (goZeroHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if sent, ok := ctx.Value(sentValue{}).(*string); ok && len(cmd.Args()) > 4 {
			*sent, _ = cmd.Args()[4].(string)
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (goZeroHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// goZeroLock is go-zero's RedisLock: one script sets the key if it is free or has the object's
// value, another script compares and deletes. Nothing renews a lock, and nothing counts how often
// an object has acquired it.
//
// After many failures the library's circuit breaker refuses commands. A refused command certainly
// did not run (locks.ErrRefused).
type goZeroLock struct {
	variant goZeroVariant
	store   *redis.Redis
	key     string
	ttl     time.Duration
	shared  *redis.RedisLock // nil: one RedisLock for each acquisition

	mu   sync.Mutex
	held map[string]*redis.RedisLock // by token
}

var _ locks.Extender = (*goZeroLock)(nil)

func (v goZeroVariant) lock(store *redis.Redis, key string, ttl time.Duration) (locks.Lock, error) {
	l := &goZeroLock{variant: v, store: store, key: key, ttl: ttl, held: map[string]*redis.RedisLock{}}
	if v.shared {
		l.shared = l.newLock()
	}
	return l, nil
}

func (l *goZeroLock) newLock() *redis.RedisLock {
	one := redis.NewRedisLock(l.store, l.key)
	if !l.variant.unset {
		one.SetExpire(l.variant.seconds(l.ttl))
	}
	return one
}

// TryLock implements locks.Lock.
func (l *goZeroLock) TryLock(ctx context.Context) (locks.Lease, error) {
	one := l.shared
	if one == nil {
		one = l.newLock()
	}
	var token string
	ok, err := one.AcquireCtx(context.WithValue(ctx, sentValue{}, &token))
	lease := locks.Lease{Token: token}
	switch {
	case err != nil:
		return lease, l.failed("acquire", err)
	case !ok:
		return lease, locks.ErrBusy
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[token] = one
	return lease, nil
}

// Unlock implements locks.Lock.
func (l *goZeroLock) Unlock(ctx context.Context, lease locks.Lease) error {
	err := l.call("release", lease, func(one *redis.RedisLock) (bool, error) { return one.ReleaseCtx(ctx) })
	if l.shared == nil && (err == nil || errors.Is(err, locks.ErrNotHeld)) { // a shared object keeps one token for ever
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, lease.Token)
	}
	return err
}

// Extend implements locks.Extender: the same object acquires again. If the lock has become free,
// Extend acquires it anew.
func (l *goZeroLock) Extend(ctx context.Context, lease locks.Lease) (locks.Lease, error) {
	return lease, l.call("extend", lease, func(one *redis.RedisLock) (bool, error) { return one.AcquireCtx(ctx) })
}

// call calls do on the RedisLock of a lease. do returns false if the RedisLock does not hold the
// lock.
func (l *goZeroLock) call(what string, lease locks.Lease, do func(*redis.RedisLock) (bool, error)) error {
	l.mu.Lock()
	one := l.held[lease.Token]
	l.mu.Unlock()
	if one == nil {
		return locks.ErrNotHeld
	}
	ok, err := do(one)
	switch {
	case err != nil:
		return l.failed(what, err)
	case !ok:
		return locks.ErrNotHeld
	}
	return nil
}

func (l *goZeroLock) failed(what string, err error) error {
	if errors.Is(err, breaker.ErrServiceUnavailable) {
		return fmt.Errorf("%w: %w", locks.ErrRefused, err)
	}
	return fmt.Errorf("%s %q: %w", what, l.key, err)
}
