package locks

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// setNXEXGetDel is D3's "password" before Lua: each attempt has its own value, and the client reads
// and compares the value before it deletes the key. Between the GET and the DEL the key may expire
// and another client may set it.
//
// Unlock returns ErrNotHeld if the GET finds no key or another's value, or if the DEL finds no key.
type setNXEXGetDel struct{ handle }

func init() {
	Register(Recipe{
		ID:       "set-nx-ex-get-del",
		Document: "D3",
		Summary:  "SET key token EX s NX · GET key, compare in the client, DEL key",
		Topology: Single,
		Claims:   claims("set-nx-ex-get-del", wholeSeconds, history.Claims{}),
		Flaws: flaws(
			// If a node dies between GET and DEL, the connection dies too, and the client sends no
			// DEL. So faults that kill a node show this flaw only by chance.
			may([]string{"node-pause", "node-restart", "failover", "split-brain", "node-clock"}, foreignDelete(
				"If the key expires, or the node loses it, between GET and DEL, the DEL removes another's lock and lets a third in.",
				"D3: GET and DEL are not one step; "+redisOwner, "client-pause", "delay", "eviction")),
			lateDelete("D3: GET and DEL are not one step"),
			leaseOutlived(), workOutlived("D3"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
		),
		New: onOneNode(func(h handle) (Lock, error) { return &setNXEXGetDel{h}, nil }),
	})
}

// TryLock implements Lock.
func (l *setNXEXGetDel) TryLock(ctx context.Context) (Lease, error) {
	return l.withToken(func(token string) error {
		return setIfAbsent(ctx, l.node(), l.key, token, "EX", seconds(l.ttl), "NX")
	})
}

// Unlock implements Lock.
func (l *setNXEXGetDel) Unlock(ctx context.Context, lease Lease) error {
	node := l.node()
	value, err := node.Do(ctx, "GET", l.key).Text()
	switch {
	case errors.Is(err, redis.Nil):
		return ErrNotHeld
	case err != nil:
		return fmt.Errorf("read the owner of %q: %w", l.key, err)
	case value != lease.Token:
		return ErrNotHeld
	}
	return del(ctx, node, l.key)
}
