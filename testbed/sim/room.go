package sim

import (
	"context"
	"slices"
	"sync"

	"github.com/lockstorm/lockstorm/testbed"
)

// room lets a command of a client to one node go on only while fewer than testbed.PoolSize commands
// and dials are under way. So go-redis never waits for a place in its connection pool, which has
// the same size. Commands take places in the pool. Dials do, too, even after the command that asked
// for the dial has given up.
type room struct {
	mu      sync.Mutex
	taken   int             // number of commands and dials under way
	waiting []chan struct{} // one for each waiting command, in order; closed when the command may enter
}

// enter waits until there is room for one more command. If ctx ends first, enter returns ctx's error.
// Otherwise the caller of enter must call leave when the command has ended.
func (r *room) enter(ctx context.Context) error {
	r.mu.Lock()
	if r.taken < testbed.PoolSize {
		r.taken++
		r.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	r.waiting = append(r.waiting, mine)
	r.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.waiting, mine)
	if i < 0 {
		return nil // the command may enter: if both cases were ready, select chose at random
	}
	r.waiting = slices.Delete(r.waiting, i, i+1)
	return ctx.Err()
}

// dial adds a dial, which ends with leave. Dial never waits, since the command that asked for
// the dial has entered.
func (r *room) dial() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken++
}

func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken--
	for len(r.waiting) > 0 && r.taken < testbed.PoolSize {
		close(r.waiting[0])
		r.waiting = r.waiting[1:]
		r.taken++
	}
}
