package sim

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/testbed/gate"
	"github.com/redis/go-redis/v9"
)

// sequencer guards a client's connections to one node. Commands that several goroutines
// send at the same instant pass one by one, in an order that does not depend on the Go
// scheduler. Otherwise the goroutines would race for the connections of the pool. Equal
// commands of one client to one node may swap places, since they are indistinguishable.
//
// A go-redis client passes the sequencer before it chooses a connection; other libraries
// pass it when they write to a connection (ordered).
type sequencer struct {
	sim          *simulation
	client, node int
	*room
}

// turn is a goroutine that waits at a sequencer until it may send its commands.
type turn struct {
	sequencer
	text  func() string // returns the text of the goroutine's commands
	conn  *gate.Conn    // the goroutine's connection, if already chosen
	since time.Duration
	next  chan struct{} // closed when the goroutine may go on
}

// turns holds the waiting turns of all clients. called counts the turns called so far.
type turns struct {
	sim     *simulation
	waiting []*turn
	called  uint64
}

var _ redis.Hook = sequencer{}

// DialHook implements redis.Hook.
func (t sequencer) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		t.dial()
		defer t.leave()
		return next(ctx, network, addr)
	}
}

// ProcessHook implements redis.Hook.
func (t sequencer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		roomy()
		if err := t.enter(ctx); err != nil {
			return err
		}
		defer t.leave()
		t.pass(&turn{text: func() string { return text(cmd) }}, nil)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (t sequencer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		roomy()
		if err := t.enter(ctx); err != nil {
			return err
		}
		defer t.leave()
		t.pass(&turn{text: func() string { return text(cmds...) }}, nil)
		return next(ctx, cmds)
	}
}

// roomy makes the goroutine's stack large enough for the command that follows. Many commands
// run on a goroutine of their own. Without roomy, the stack would grow thirty calls deeper, where
// copying a stack takes several times as long. Such copying took an eighth of the time of
// Redlock's trials.
//
//go:noinline
func roomy() byte {
	var room [4 << 10]byte
	return room[now()&1]
}

func text(cmds ...redis.Cmder) string {
	text := ""
	for _, c := range cmds {
		text += fmt.Sprintln(c.Args()...)
	}
	return text
}

// pass blocks until the caller's turn comes, or until ended is closed.
func (t sequencer) pass(mine *turn, ended <-chan struct{}) {
	w := t.sim
	w.mu.Lock()
	if w.schedule.closed {
		w.mu.Unlock()
		return
	}
	mine.sequencer, mine.since, mine.next = t, now(), make(chan struct{})
	w.turns.waiting = append(w.turns.waiting, mine)
	if len(w.turns.waiting) == 1 {
		w.turns.callNext()
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

// callNext schedules the next waiting turn. The simulation's lock is held.
func (t *turns) callNext() {
	// A command's timeouts count from its turn. Each turn has a place of its own, so that
	// the timeouts do not coincide with other turns.
	t.called++
	place := placesOfPipes + time.Duration(mix(t.sim.setup.Seed, t.called)%uint64(turnPlaces))
	t.sim.schedule.add(&event{at: alignTo(now()+tick, place), do: func() {
		// Skip turns that began at this instant: more turns may still be added.
		first, instant := -1, now()
		for i, o := range t.waiting {
			if o.since < instant && (first < 0 || o.compare(t.waiting[first]) < 0) {
				first = i
			}
		}
		if first >= 0 {
			t.chooseConn(t.waiting[first])
			close(t.waiting[first].next)
			t.waiting = slices.Delete(t.waiting, first, first+1)
		}
		if len(t.waiting) > 0 {
			t.callNext()
		}
	}})
}

// compare orders turns by client, node and command text.
func (t *turn) compare(o *turn) int {
	if before := cmp.Or(cmp.Compare(t.client, o.client), cmp.Compare(t.node, o.node)); before != 0 {
		return before
	}
	return cmp.Compare(t.text(), o.text()) // last, since making the texts is expensive and seldom needed
}

// dismiss lets all waiting turns go on: the trial is over.
func (t *turns) dismiss() {
	for _, o := range t.waiting {
		close(o.next)
	}
	t.waiting = nil
}
