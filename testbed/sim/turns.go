package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/testbed/gate"
	"github.com/redis/go-redis/v9"
)

// turnstile is in front of a client's connections to one node: it lets commands that
// several goroutines send at one instant go on one by one, in an order that does not
// depend on the Go scheduler. Otherwise they would race for the connections of the pool.
// Equal commands of one client to one node may change places: they cannot be told apart.
//
// A client's own go-redis clients pass it before they choose a connection, other
// libraries when they write to one (ordered).
type turnstile struct {
	world        *world
	client, node int
}

// turn is a goroutine that waits at a turnstile.
type turn struct {
	turnstile
	text  func() string // what it sends
	conn  *gate.Conn    // over which, if that has been chosen
	since time.Duration
	next  chan struct{} // closed when it may go on
}

// turns are those of all clients.
type turns struct {
	waiting []*turn
	called  uint64
}

var _ redis.Hook = turnstile{}

// DialHook implements redis.Hook.
func (turnstile) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (t turnstile) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.pass(&turn{text: func() string { return text(cmd) }}, nil)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (t turnstile) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.pass(&turn{text: func() string { return text(cmds...) }}, nil)
		return next(ctx, cmds)
	}
}

func text(cmds ...redis.Cmder) string {
	text := ""
	for _, c := range cmds {
		text += fmt.Sprintln(c.Args()...)
	}
	return text
}

// pass returns when it is the caller's turn, or when ended is closed.
func (t turnstile) pass(mine *turn, ended <-chan struct{}) {
	w := t.world
	w.mu.Lock()
	if w.schedule.closed {
		w.mu.Unlock()
		return
	}
	mine.turnstile, mine.since, mine.next = t, now(), make(chan struct{})
	w.turns.waiting = append(w.turns.waiting, mine)
	if len(w.turns.waiting) == 1 {
		w.callNext()
	}
	w.mu.Unlock()
	select {
	case <-mine.next:
	case <-ended:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turns.waiting = slices.DeleteFunc(w.turns.waiting, func(o *turn) bool { return o == mine })
	}
}

// callNext soon lets the next waiting turn go on. The world's lock is held.
func (w *world) callNext() {
	// Timeouts count from here. Each turn has a place of its own, so that its timeouts do
	// not end together with other turns' events.
	w.turns.called++
	place := placesOfWay + time.Duration(mix(w.setup.Seed, w.turns.called)%uint64(turnPlaces))
	w.schedule.add(&event{at: alignTo(now()+tick, place), do: func() {
		// Of turns that begin at this very instant, some may be missing yet.
		all, first, instant := w.turns.waiting, -1, now()
		for i, t := range all {
			if t.since < instant && (first < 0 || t.compare(all[first]) < 0) {
				first = i
			}
		}
		if first >= 0 {
			w.settle(all[first])
			close(all[first].next)
			w.turns.waiting = slices.Delete(all, first, first+1)
		}
		if len(w.turns.waiting) > 0 {
			w.callNext()
		}
	}})
}

// compare orders turns by who sends what to whom.
func (t *turn) compare(o *turn) int {
	return cmp.Or(cmp.Compare(t.client, o.client), cmp.Compare(t.node, o.node), cmp.Compare(t.text(), o.text()))
}

// dismiss lets everybody go on: the trial is over.
func (w *world) dismiss() {
	for _, t := range w.turns.waiting {
		close(t.next)
	}
	w.turns.waiting = nil
}
