package strangers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// quorums are locks on a majority of independent nodes.
func quorums() []Stranger {
	majority := func(c *history.Claims, nodes int) { c.Quorum = nodes/2 + 1 }
	redlock := func(each func([]locks.Node, func(locks.Node) error) []error) func(*locks.Client) maker {
		return of(func(l lease) locks.Lock { return quorum{l, each} })
	}
	return []Stranger{
		{ID: "redlock-parallel", Doc: "RedLock that asks all nodes at once", Right: true,
			topology: locks.Independent, promises: majority, bind: redlock(atOnce)},
		{ID: "redlock-sequential", Doc: "RedLock that asks the nodes one after the other", Right: true,
			topology: locks.Independent, promises: majority, bind: redlock(inTurn)},
	}
}

// quorum is RedLock. It measures with the monotonic clock, and not with the wall clock, how long an
// acquire took.
type quorum struct {
	lease
	each func(nodes []locks.Node, do func(locks.Node) error) []error
}

// inTurn calls do for one node after the other.
func inTurn(nodes []locks.Node, do func(locks.Node) error) []error {
	results := make([]error, len(nodes))
	for i, n := range nodes {
		results[i] = do(n)
	}
	return results
}

// atOnce calls do for all nodes at once and waits for all results.
func atOnce(nodes []locks.Node, do func(locks.Node) error) []error {
	results := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { results[i] = do(n) })
	}
	all.Wait()
	return results
}

// patience is the timeout for one node.
func (l quorum) patience() time.Duration { return min(50*time.Millisecond, l.ttl/20) }

// TryLock implements locks.Lock.
func (l quorum) TryLock(ctx context.Context) (locks.Lease, error) {
	token, err := l.c.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	start, yes := time.Now(), 0
	for _, err := range l.each(l.c.Nodes, func(n locks.Node) error { return l.ask(ctx, n, token) }) {
		if err == nil {
			yes++
		}
	}
	wall := l.c.Now()
	valid := l.ttl - time.Since(start) - l.ttl/100 - 2*time.Millisecond
	if yes > len(l.c.Nodes)/2 && valid > 0 {
		lost := make(chan struct{})
		time.AfterFunc(valid, func() { close(lost) })
		return locks.Lease{Token: token, Deadline: wall.Add(valid), LostC: lost}, nil
	}
	l.giveBack(ctx, token)
	if err := ctx.Err(); err != nil {
		return locks.Lease{Token: token}, fmt.Errorf("acquire: %w", err)
	}
	return locks.Lease{Token: token}, locks.ErrBusy
}

func (l quorum) ask(ctx context.Context, node locks.Node, token string) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience())
	defer cancel()
	return node.Do(ctx, "SET", l.key, token, "NX", "PX", l.life()).Err()
}

// giveBack sends compareAndDelete to all nodes, including those that did not answer the acquire.
func (l quorum) giveBack(ctx context.Context, token string) []error {
	return l.each(l.c.Nodes, func(n locks.Node) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.patience())
		defer cancel()
		return released(compareAndDelete.Run(ctx, n, []string{l.key}, token))
	})
}

// Unlock implements locks.Lock.
func (l quorum) Unlock(ctx context.Context, held locks.Lease) error {
	deleted, gone := 0, 0
	var failed []error
	for _, err := range l.giveBack(ctx, held.Token) {
		switch {
		case err == nil:
			deleted++
		case errors.Is(err, locks.ErrNotHeld):
			gone++
		default:
			failed = append(failed, err)
		}
	}
	majority := len(l.c.Nodes)/2 + 1
	switch {
	case deleted >= majority:
		return nil
	case deleted+len(failed) < majority:
		return locks.ErrNotHeld
	}
	return fmt.Errorf("release: %d nodes deleted it, %d did not have it: %w", deleted, gone, errors.Join(failed...))
}
