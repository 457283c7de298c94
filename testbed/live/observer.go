package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live/look"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// observer reports the changes of a node's keys. It looks at the keys
//   - after each command that may change keys,
//   - before a command if a key may have expired,
//   - around operations that may change keys without a client's command, such as an eviction,
//   - when a key has expired (run).
//
// A look needs the node's turn. The turn also guards all fields unless a comment says otherwise. A
// nil *observer does nothing.
type observer struct {
	node    *node
	log     *keyLog
	options look.Options

	looker *look.Looker // nil = not connected
	// recording: the node serves clients, so its changes are reported. Differences found when
	// recording begins are attributed to a promotion, or to an unknown cause if a command has run.
	recording bool
	blind     bool // the node's keys cannot be observed any more
	last      map[string]seen
	lastSent  time.Duration // when the last look began
	clock     wallClock
	effects   []*effect // effects that perhaps no look has seen yet
	brink     time.Duration

	reborn atomic.Int64 // when the last restart began; 0 once a look has seen the new server

	wake  chan struct{} // tells the goroutine of run that due or asked has changed
	asked atomic.Bool   // run must look
	due   atomic.Int64  // when run must look, on the history's clock; 0 = never

	ending atomic.Bool // the trial is ending: a look waits for at most closingTimeout
	quit   chan struct{}
	done   sync.WaitGroup

	mu   sync.Mutex
	conn net.Conn // looker's connection, for use without the node's turn
}

// seen is a key's state at the last look.
type seen struct {
	ends    int64 // the same as look.Key.Ends
	content *history.KeyContent
}

// effect is a command that may change keys.
type effect struct {
	exec int
	from time.Duration // the history's time just before the command was written to the node
	args []history.Bytes
	// confined: the command changes only keys among its arguments.
	confined bool
	answered atomic.Int64 // when the answer came, on the history's clock; 0 = the command may yet run
}

// touches reports whether the command may have changed the key.
func (f *effect) touches(key string) bool {
	return !f.confined || slices.Contains(f.args, history.Bytes(key))
}

// observe starts the observers of all nodes. The nodes have no keys yet.
func (e *env) observe(ctx context.Context) error {
	log := newKeyLog(e.setup, func(err error) { e.cancel(deadNode{err}) })
	if log == nil {
		return nil
	}
	for _, n := range e.nodes {
		o := &observer{
			node: n, log: log, brink: leastBrink, last: map[string]seen{}, wake: make(chan struct{}, 1), quit: make(chan struct{}),
			options: e.lookOptions(n),
		}
		o.options.Roles = e.setup.Topology != testbed.Single && e.setup.Topology != testbed.Independent
		o.recording = !o.options.Roles || n == e.nodes[0]
		n.observer = o
		o.done.Go(o.run)
		if err := o.now(ctx, history.ByStranger); err != nil {
			return fmt.Errorf("node %s: %w", n.name, err)
		}
	}
	return nil
}

// now takes the node's turn and looks at its keys. by is the cause of the changes since the last
// look; "" = commands and expiry only.
func (o *observer) now(ctx context.Context, by history.ChangedBy) error {
	if o == nil {
		return nil
	}
	if !o.node.take(ctx.Done()) {
		return fmt.Errorf("look at the keys: %w", ctx.Err())
	}
	defer o.node.release()
	o.look(cause{by: by, from: o.node.clock()})
	return nil
}

// Bounds of observer.brink: the time just before a key's expiry in which no command may begin, since
// it would be unknown whether the command ran before or after the expiry. Within these bounds, the
// brink is twice as long as recent commands took, including the looks after these commands.
const (
	leastBrink = 500 * time.Microsecond
	mostBrink  = 2 * time.Millisecond
)

// before is called before a client's command is executed. It looks, if needed, and waits for
// imminent expiries.
func (o *observer) before(args []history.Bytes) {
	if o == nil || o.blind || !resp.Counts(args) {
		return
	}
	// On a shared server, its other users may have changed keys.
	if shared := o.options.Names != nil && !harmless(args); shared || !o.recording || o.reborn.Load() > 0 || o.anyAnswered() {
		o.look(cause{})
	}
	for range attemptsAtEnds {
		now, end := o.node.clock(), o.nextEnd()
		if end == 0 || end > now+o.brink {
			return
		}
		time.Sleep(end - now)
		if !o.look(cause{}) {
			return
		}
	}
}

// attemptsAtEnds bounds how many imminent expiries a command waits for.
const attemptsAtEnds = 3

// executes stores and returns the effect of a command that is about to be written; nil = the
// command has no effect, or the node's keys are not observed.
func (o *observer) executes(args []history.Bytes, blocks bool) *effect {
	if o == nil || o.blind || harmless(args) {
		return nil
	}
	f := &effect{exec: o.node.executed, from: o.node.clock(), args: args, confined: blocks || resp.Of(args).Confined()}
	o.effects = append(o.effects, f)
	return f
}

// executed looks at the keys after a command was answered. likely are the keys that the command may
// have created.
func (o *observer) executed(f *effect, answered time.Duration, likely ...string) {
	if f == nil {
		return
	}
	f.answered.Store(int64(answered))
	o.look(cause{likely: likely})
	took := o.node.clock() - f.from
	o.brink = min(max(2*took, o.brink-o.brink/64, leastBrink), mostBrink)
}

// restarting notes that the node's server is being started, perhaps again.
func (o *observer) restarting() {
	if o != nil {
		o.reborn.Store(max(int64(o.node.clock()), 1))
	}
}

// unchanged drops the effect of a command that changed no keys.
func (o *observer) unchanged(f *effect) {
	if f != nil {
		o.effects = slices.DeleteFunc(o.effects, func(other *effect) bool { return other == f })
	}
}

// lost looks at the keys after a command that will not be answered. It looks twice: the node may
// execute the first look before the command, but not the second.
func (o *observer) lost(f *effect) {
	if f == nil {
		return
	}
	o.look(cause{})
	f.answered.Store(int64(o.node.clock()))
	o.look(cause{})
}

// late notes that a blocking command was answered, or will never be. The caller need not hold the
// node's turn.
func (o *observer) late(f *effect) {
	if f == nil {
		return
	}
	f.answered.Store(int64(o.node.clock()))
	o.asked.Store(true)
	o.rouse()
}

func (o *observer) rouse() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// anyAnswered reports whether an answered command may have an effect that no look has seen.
func (o *observer) anyAnswered() bool {
	return slices.ContainsFunc(o.effects, func(f *effect) bool { return f.answered.Load() > 0 })
}

// nextEnd returns when the next key expires, on the history's clock; 0 = none does.
func (o *observer) nextEnd() (at time.Duration) {
	for _, s := range o.last {
		if s.ends == 0 {
			continue
		}
		if end := max(o.clock.over(s.ends), 1); at == 0 || end < at {
			at = end
		}
	}
	return at
}

// grace is the delay between a key's expiry and run's look, because a busy node removes expired
// keys a little late.
const grace = 500 * time.Microsecond

// again is the delay before run repeats a failed look.
const again = 20 * time.Millisecond

// run is the observer's goroutine. It looks at the keys when one has expired, when asked is set, and
// again after a failed look.
func (o *observer) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-o.quit:
			return
		case <-o.wake:
		case <-timer.C:
		}
		due := time.Duration(o.due.Load())
		if o.asked.Swap(false) || due > 0 && due <= o.node.clock() {
			if !o.node.take(o.quit) {
				return
			}
			o.look(cause{})
			o.node.release()
			due = time.Duration(o.due.Load())
		}
		if due > 0 {
			timer.Reset(due - o.node.clock())
		}
	}
}

// plan sets the time of run's next look. seen is true if the last look succeeded.
func (o *observer) plan(seen bool) {
	var due time.Duration
	if end := o.nextEnd(); end > 0 && o.recording && !o.blind {
		due = max(end, o.lastSent) + grace
	}
	if !seen && !o.blind {
		_, down := o.node.running()
		if missed := due > 0 || len(o.effects) > 0 || o.reborn.Load() > 0; missed && down == nil {
			due = max(due, o.node.clock()+again)
		} else {
			due = 0
		}
	}
	if o.due.Swap(int64(due)) != int64(due) {
		o.rouse()
	}
}

// giveUp ends the observation of the node and reports why.
func (o *observer) giveUp(why error) {
	if o == nil || o.blind {
		return
	}
	o.blind = true
	o.effects = nil
	o.disconnect()
	o.log.unseen(o.node.name, why)
}

// lookTimeout returns the time limit of a look: adminTimeout while the trial runs, and the constant
// closingTimeout (1 s) when the trial is ending.
func (o *observer) lookTimeout() time.Duration {
	if o.ending.Load() {
		return closingTimeout
	}
	return adminTimeout
}

// connect returns the present Looker, or a new one on a new connection.
func (o *observer) connect() (*look.Looker, error) {
	if o.looker != nil {
		return o.looker, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(o.lookTimeout(), dialTimeout))
	defer cancel()
	conn, err := o.node.dial(ctx)
	if err != nil {
		return nil, err
	}
	if !o.keep(conn) {
		return nil, net.ErrClosed
	}
	if err := conn.SetDeadline(time.Now().Add(o.lookTimeout())); err != nil {
		return nil, err
	}
	o.looker, err = look.New(conn, o.options)
	return o.looker, err
}

// dialTimeout bounds the dial of an observer.
const dialTimeout = time.Second

// keep stores the connection for end and close. If close was called already, keep closes the
// connection and returns false.
func (o *observer) keep(conn net.Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.quit:
		conn.Close()
		return false
	default:
	}
	o.conn = conn
	o.node.monitor.hide(conn.LocalAddr())
	return true
}

func (o *observer) disconnect() {
	if o.looker != nil {
		o.looker.Close()
		o.looker = nil
	}
}

// finish looks for the last time, after all clients have ended.
func (o *observer) finish() {
	if o == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	if !o.node.take(ctx.Done()) {
		return // the node is paused: later commands wait for the turn and are never sent
	}
	defer o.node.release()
	if _, err := o.node.running(); err != nil || o.blind {
		return
	}
	if !o.look(cause{}) && len(o.effects) > 0 {
		o.giveUp(errors.New("it did not answer any more before the trial's end"))
	}
}

// end must be called before teardown. From then on, a look waits for at most closingTimeout.
func (o *observer) end() {
	if o == nil {
		return
	}
	o.ending.Store(true)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conn != nil {
		_ = o.conn.SetDeadline(time.Now().Add(closingTimeout))
	}
}

// close ends the observer, and any look that waits for the node.
func (o *observer) close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	close(o.quit)
	if o.conn != nil {
		o.conn.Close()
	}
	o.mu.Unlock()
	o.done.Wait()
}
