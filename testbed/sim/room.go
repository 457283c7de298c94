package sim

import (
	"context"
	"slices"
	"sync"

	"github.com/lockstorm/lockstorm/testbed"
)

// room limits how many commands and dials a client has under way to one node. So go-redis
// never waits for a place in its own pool of testbed.PoolSize. A command takes a place in that
// pool, and so does a dial, even after the command that asked for the dial has given up.
type room struct {
	mu      sync.Mutex
	taken   int             // by commands and dials
	waiting []chan struct{} // commands, first come first served; closed when they may enter
}

// enter waits until there is room for one more command, which leaves by leave. It returns the
// error of ctx if ctx ends before.
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
		return nil // let in at the same moment: a select would choose at random
	}
	r.waiting = slices.Delete(r.waiting, i, i+1)
	return ctx.Err()
}

// dial adds a dial, which leaves by leave. It never waits, since its command is already in.
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
