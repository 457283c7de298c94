package mutants

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

// quorum is the good recipe redlock-drift, written anew: SET NX PX on each node in turn, with a small
// timeout. The lock is held if a majority grants it and its validity, measured without the wall clock,
// is not over. Otherwise a compare-and-delete runs on every node.
type quorum struct {
	c        *locks.Client
	key      string
	ttl      time.Duration
	patience time.Duration // timeout for one node
	need     int           // number of nodes that must grant
	drift    time.Duration
	// A mutant sets one of the following fields as its mistake. Some mutants change need, drift or
	// patience instead.
	anyDelay  bool // the duration of the acquire is ignored, and no deadline is claimed
	wallClock bool // elapsed time is the difference of two wall clock readings
	guess     bool // a node whose reply is an error or missing counts as having granted the lock
	careless  bool // a failed attempt leaves its keys behind
}

// validity returns the validity that redlock-drift claims: the lease minus the duration of the
// acquire and the drift.
func (l *quorum) validity(took time.Duration) time.Duration { return l.ttl - took - l.drift }

// TryLock implements locks.Lock.
func (l *quorum) TryLock(ctx context.Context) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	lease := locks.Lease{Token: token}
	wall, start := l.c.Now(), time.Now()
	granted := 0
	for _, node := range l.c.Nodes {
		if l.ask(ctx, node, token) {
			granted++
		}
	}
	took := time.Since(start)
	if l.wallClock {
		took = l.c.Now().Round(0).Sub(wall.Round(0))
	}
	if granted >= l.need && (l.anyDelay || l.validity(took) > 0) {
		if !l.anyDelay {
			lease.Deadline = wall.Add(l.ttl - l.drift)
		}
		if !l.anyDelay && !l.wallClock {
			lease.LostC = l.over(l.validity(took))
		}
		return lease, nil
	}
	if !l.careless {
		l.giveBack(ctx, token)
	}
	if err := ctx.Err(); err != nil {
		return lease, fmt.Errorf("acquire: %w", err)
	}
	return lease, locks.ErrBusy
}

// over returns a channel that is closed after the given time, unless the client process ends before.
func (l *quorum) over(after time.Duration) <-chan struct{} {
	ended := make(chan struct{})
	timer := time.AfterFunc(after, func() { close(ended) })
	context.AfterFunc(l.c.Context, func() { timer.Stop() })
	return ended
}

// ask sends SET to one node, and reports whether the reply counts as a grant.
func (l *quorum) ask(ctx context.Context, node locks.Node, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	err := node.Do(ctx, "SET", l.key, token, "NX", "PX", milliseconds(l.ttl)).Err()
	return err == nil || l.guess && err != redis.Nil
}

// giveBack releases the lock on every node. It counts the nodes that deleted the key, and the nodes
// whose outcome is unknown.
func (l *quorum) giveBack(ctx context.Context, token string) (deleted, unknown int) {
	for _, node := range l.c.Nodes {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.patience)
		n, err := compareAndDelete.one(ctx, node, l.key, token).Int64()
		cancel()
		if err != nil {
			unknown++
		}
		deleted += int(n)
	}
	return deleted, unknown
}

// Unlock implements locks.Lock.
func (l *quorum) Unlock(ctx context.Context, lease locks.Lease) error {
	deleted, unknown := l.giveBack(ctx, lease.Token)
	majority := len(l.c.Nodes)/2 + 1
	switch {
	case deleted >= majority:
		return nil
	case deleted+unknown < majority:
		return locks.ErrNotHeld
	}
	return fmt.Errorf("release: %d nodes did not answer", unknown)
}

// quorums returns the mutants of redlock-drift.
func quorums() []Mutant {
	mutant := family("redlock-drift", func(c *locks.Client, key string, ttl time.Duration) *quorum {
		return &quorum{
			c: c, key: key, ttl: ttl, need: len(c.Nodes)/2 + 1,
			patience: min(50*time.Millisecond, ttl/20), drift: ttl/100 + 2*time.Millisecond,
		}
	}, compareAndDelete)
	return []Mutant{
		mutant("quorum-off-by-one", "half of the nodes are enough", func(l *quorum) { l.need = len(l.c.Nodes) / 2 }),
		mutant("validity-ignored", "nobody asks how long the voting took, and the lease has no end", func(l *quorum) { l.anyDelay = true }),
		mutant("drift-ignored", "nothing is subtracted for the drift of clocks", func(l *quorum) { l.drift = 0 }),
		mutant("elapsed-by-wall-clock", "the time that the voting took is read from a wall clock", func(l *quorum) { l.wallClock = true }),
		mutant("unknown-vote-counted", "a node that does not answer counts as a yes", func(l *quorum) { l.guess = true }),
		mutant("cleanup-skipped", "a failed attempt leaves its keys behind", func(l *quorum) { l.careless = true }),
		mutant("no-patience-limit", "one node is waited for as long as the lease lasts", func(l *quorum) { l.patience = l.ttl }),
	}
}
