package locks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// isLockingAfterLock is D3's class, used as its API invites. D3's lock returns false both if the
// lock is busy and if no reply came. D3's isLocking(key, value) tells whether the key has the
// caller's value. So the caller asks isLocking after every false, and a SET whose reply was lost
// counts as held after all.
//
// This check is correct: each attempt has its own value, so a GET that finds the value proves the
// grant. There are two flaws. First, D3's lock counts no entry in the client's memory when it
// returns false. So unLock refuses without asking Redis, and the key keeps everybody out until it
// expires. Second, if a SET arrives after the GET, no client knows of its grant.
//
// The recipe claims no re-entry, because a grant that isLocking found cannot be re-entered. Unlock
// returns ErrRefused if the client has counted no entry. Otherwise it returns nil, whatever Redis
// replied.
type isLockingAfterLock struct{ localLock }

func init() {
	Register(Recipe{
		ID:       "is-locking-after-lock",
		Document: "D3",
		Summary:  "SET key token EX s NX; not OK: GET key == token, held · Lua: compare and delete, if the SET said OK",
		Topology: Single,
		Claims:   claims("is-locking-after-lock", wholeSeconds, history.Claims{}, compareAndDelete),
		Flaws:    isLockingAfterLockFlaws,
		New:      withState(newLocalLocks, func(h handle, all *localLocks) Lock { return &isLockingAfterLock{localLock{h, all, false}} }),
	})
}

var isLockingAfterLockFlaws = flaws(
	under(lostReplies, "orphaned-key", Bug,
		"A lock that isLocking found to be held has no entry in the owner's map: unLock refuses, and the key keeps everybody out until it expires.",
		"D3: lock0 returns false after an exception, isLocking compares the value, unLock asks the map alone", "liveness"),
	orphanedUnder(without(slices.Concat(strandingFaults, []string{"client-pause"}), lostReplies...)),
	leaseOutlived(), workOutlived("D3"), serverClock(), prolongedKey(), serverLostKey(),
)

// TryLock implements Lock. If the GET fails, the outcome is unknown. If the SET got no reply and
// the GET does not find the token, D3's caller has no lock, but the SET may still arrive: then the
// error is both ErrBusy and ErrPresumed.
func (l *isLockingAfterLock) TryLock(ctx context.Context) (Lease, error) {
	lease, err := l.localLock.TryLock(ctx)
	if !errors.Is(err, ErrBusy) {
		return lease, err
	}
	locking, gerr := l.isLocking(ctx, lease.Token)
	switch {
	case gerr != nil:
		return lease, gerr
	case !locking:
		return lease, err
	}
	return lease, nil
}

// isLocking reports whether the key has the token as its value.
func (l *isLockingAfterLock) isLocking(ctx context.Context, token string) (bool, error) {
	defer l.synchronized()()
	value, err := l.node().Do(ctx, "GET", l.key).Text()
	switch {
	case errors.Is(err, redis.Nil):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read the owner of %q: %w", l.key, err)
	}
	return value == token, nil
}
