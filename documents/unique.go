package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// unique measures D0's reason why each client should use its own value: otherwise a late release
// removes another client's key.
var unique = Experiment{
	ID:   "unique-value",
	Asks: "What does the compare-and-delete protect if clients share a value?",
	How: "Three clients take the lock (set-nx-px) in turn for 60 s, with a lease of 1 s and work of 1.2 leases: every release comes after the lease. " +
		"Either each attempt draws its own value, or all clients pass the same. *Removed another's*: releases that deleted a key that somebody else had set.",
	run: runUnique,
}

func runUnique(ctx context.Context, l lab) (result Result, err error) {
	result.Columns = []string{"value", "acquisitions", "releases that removed another's key", "acquisitions beside another holder"}
	removed, beside, grants := map[string]int{}, map[string]int{}, map[string]int{}
	for _, value := range []string{"drawn", "shared"} {
		r, err := recipe("set-nx-px")
		if err != nil {
			return result, err
		}
		if value == "shared" {
			r = withToken(r, "the same for all")
		}
		used, err := l.use(ctx, users{
			recipe: r, clients: 3, seed: l.seed, ttl: time.Second, work: 1200 * time.Millisecond,
			rest: 50 * time.Millisecond, retry: 20 * time.Millisecond, lasts: time.Minute,
		})
		if err != nil {
			return result, err
		}
		removed[value], beside[value], grants[value] = used.removedAnothers(), used.overlaps(), len(used.grants)
		result.row(value, grants[value], removed[value], beside[value])
	}
	result.says("removed", "With a value of its own, a late release removed another's key in %d of %d turns; with one value for all, in %d of %d.",
		removed["drawn"], grants["drawn"], removed["shared"], grants["shared"])
	result.says("overrun", "The value does not keep a second client out once the lease is over: %d of %d acquisitions came beside a holder all the same.", beside["drawn"], grants["drawn"])
	return result, nil
}

// removedAnothers counts the releases that deleted the key after another client had acquired the
// lock.
func (u usage) removedAnothers() (n int) {
	deleted := map[int]bool{}
	for _, k := range u.keys {
		if k.After == nil {
			deleted[k.Exec] = k.By == "command"
		}
	}
	for _, c := range u.commands {
		if !deleted[c.Exec] || c.Exec == 0 {
			continue
		}
		// The client of the last grant before the release was sent counts as the key's owner.
		owner := -1
		for _, g := range u.grants {
			if g.got <= c.Sent {
				owner = g.client
			}
		}
		if owner != c.Client {
			n++
		}
	}
	return n
}

// withToken returns a recipe whose clients all pass the same token.
func withToken(r locks.Recipe, token string) locks.Recipe {
	made := r.New
	r.New = func(c *locks.Client) (locks.Maker, error) {
		maker, err := made(c)
		if err != nil {
			return nil, err
		}
		return func(key string, ttl time.Duration) (locks.Lock, error) {
			l, err := maker(key, ttl)
			if err != nil {
				return nil, err
			}
			chooses, ok := l.(locks.TokenLocker)
			if !ok {
				return nil, errors.New(fmt.Sprint(r.ID, " does not let its caller choose the token"))
			}
			return fixedToken{l, chooses, token}, nil
		}, nil
	}
	return r
}

// fixedToken is a lock whose attempts all use one token.
type fixedToken struct {
	locks.Lock
	chooses locks.TokenLocker
	token   string
}

// TryLock implements locks.Lock.
func (l fixedToken) TryLock(ctx context.Context) (locks.Lease, error) {
	return l.chooses.TryLockWith(ctx, l.token)
}
