package locks

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/lockstorm/lockstorm/history"
)

// luaSetnxExpireOwner is D1's final version: the acquiring script of the second version, and a
// release that compares the value. Each handle has one value, so all leases of a handle have the
// same token. A release that is delivered late deletes the same handle's next lease.
//
// The handle remembers whether it is locked. A locked handle refuses to lock, and an unlocked
// handle refuses to release: the error is ErrRefused, and nothing is sent. The handle counts as
// unlocked after a release, whatever its result, and after an acquire of unknown outcome. D1
// ignores the reply of the release's script, so Unlock returns nil even if the key was gone or
// another's. After an error of Unlock other than ErrRefused the outcome is unknown.
type luaSetnxExpireOwner struct {
	polling
	handle
	value  string
	locked atomic.Bool
}

func init() {
	Register(Recipe{
		ID:       "lua-setnx-expire-owner",
		Document: "D1",
		Summary:  "Lua: SETNX key <handle's value>, EXPIRE key s · Lua: compare and delete, result ignored",
		Topology: Single,
		Claims:   claims("lua-setnx-expire-owner", wholeSeconds, history.Claims{}, setnxThenExpire, compareAndDelete),
		Flaws: flaws(
			lateDelete("D1, final version: one value per handle"),
			leaseOutlived(), workOutlived("D1"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
		),
		New: onOneNode(newLuaSetnxExpireOwner),
	})
}

func newLuaSetnxExpireOwner(h handle) (Lock, error) {
	id, err := uuid.NewRandomFromReader(h.client.Rand)
	if err != nil {
		return nil, fmt.Errorf("draw a lock value: %w", err)
	}
	value := fmt.Sprintf("%v.%d", id, h.client.Now().UnixMilli())
	return &luaSetnxExpireOwner{handle: h, value: value}, nil
}

// TryLock implements Lock. The lease's token is the handle's value.
func (l *luaSetnxExpireOwner) TryLock(ctx context.Context) (Lease, error) {
	if l.locked.Load() {
		return Lease{}, fmt.Errorf("%w: already locked", ErrRefused)
	}
	lease := Lease{Token: l.value}
	if err := acquireBySetnxThenExpire(ctx, l.node(), l.key, l.value, seconds(l.ttl)); err != nil {
		return lease, err
	}
	l.locked.Store(true)
	return lease, nil
}

// Unlock implements Lock.
func (l *luaSetnxExpireOwner) Unlock(ctx context.Context, _ Lease) error {
	if !l.locked.Swap(false) {
		return fmt.Errorf("%w: not locked", ErrRefused)
	}
	if err := compareAndDelete.Run(ctx, l.node(), []string{l.key}, l.value).Err(); err != nil {
		return fmt.Errorf("release %q: %w", l.key, err)
	}
	return nil
}
