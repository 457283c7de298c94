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

// observer tells what becomes of a node's keys. Whoever has the node's turn has it
// look: after each command that may change keys, before one at whose time a key's
// life may have ended, and around all else that is done to the node. By itself it
// looks when a life has ended. All that it keeps is guarded by the node's turn,
// unless it says otherwise. A nil *observer sees nothing.
type observer struct {
	node    *node
	log     *keyLog
	options look.Options

	looker *look.Looker // nil = none yet, or no more
	// recording: the node serves clients, and its changes are told. What it has
	// when it begins to is a promotion's doing.
	recording bool
	blind     bool // nothing of it can be seen any more
	last      map[string]seen
	lastSent  time.Duration // when the last look began
	clock     wallClock
	effects   []*effect // that may not have been seen yet
	brink     time.Duration

	reborn atomic.Int64 // when a server was started that was not looked at yet; 0 = none was

	wake  chan struct{} // tells run that lives end at other times, or that it must look
	asked atomic.Bool   // it must look
	due   atomic.Int64  // when it must look, on the history's clock; 0 = never

	ending atomic.Bool // the trial: nothing is waited for any more
	quit   chan struct{}
	done   sync.WaitGroup

	mu   sync.Mutex
	conn net.Conn // of looker, for who has not the turn; nil once closed for good
}

// seen is what the node had under a key.
type seen struct {
	ends    int64 // as look.Key.Ends
	content *history.KeyContent
}

// effect is what a command may do to keys.
type effect struct {
	exec int
	from time.Duration // before it was written
	args []history.Bytes
	// confined: it changes nothing but keys among its arguments.
	confined bool
	answered atomic.Int64 // when, on the history's clock; 0 = it may yet run
}

// touches says whether the command may have changed the key.
func (f *effect) touches(key string) bool {
	return !f.confined || slices.Contains(f.args, history.Bytes(key))
}

// observe begins to look at all nodes, which have no keys yet.
func (e *env) observe(ctx context.Context) error {
	log := newKeyLog(e.setup, func(err error) { e.cancel(deadNode{err}) })
	if log == nil {
		return nil
	}
	for _, n := range e.nodes {
		o := &observer{
			node: n, log: log, brink: leastBrink, last: map[string]seen{}, wake: make(chan struct{}, 1), quit: make(chan struct{}),
			options: look.Options{
				Roles:   e.setup.Topology != testbed.Single && e.setup.Topology != testbed.Independent,
				Cluster: e.cluster != nil,
			},
		}
		if r, ok := n.latest().(Remote); ok {
			o.options.Names = r.Names
		}
		o.recording = !o.options.Roles || n == e.nodes[0]
		n.observer = o
		o.done.Go(o.run)
		if err := o.now(ctx, history.ByStranger); err != nil {
			return fmt.Errorf("node %s: %w", n.name, err)
		}
	}
	return nil
}

// now takes the node's turn and looks at what has been done to it.
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

// On the brink of the end of a key's life no command is begun, since nobody would
// know on which side of it the command was executed. The brink is as wide as
// commands lately took, with the look after them, within these bounds.
const (
	leastBrink = 500 * time.Microsecond
	mostBrink  = 2 * time.Millisecond
)

// before is called before a command of a client is executed.
func (o *observer) before(args []history.Bytes) {
	if o == nil || o.blind || !resp.Counts(args) {
		return
	}
	// Of somebody else's server, others may have changed keys.
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

// attemptsAtEnds bounds how many ends of lives, one just after the other, a command
// waits for.
const attemptsAtEnds = 3

// executes notes what a command may do that is about to be written; nil = nothing.
func (o *observer) executes(args []history.Bytes, blocks bool) *effect {
	if o == nil || o.blind || harmless(args) {
		return nil
	}
	f := &effect{exec: o.node.executed, from: o.node.clock(), args: args, confined: blocks || confined(args)}
	o.effects = append(o.effects, f)
	return f
}

// executed looks at what a command has done that was answered. Likely are keys
// that it may have made.
func (o *observer) executed(f *effect, answered time.Duration, likely ...string) {
	if f == nil {
		return
	}
	f.answered.Store(int64(answered))
	o.look(cause{likely: likely})
	took := o.node.clock() - f.from
	o.brink = min(max(2*took, o.brink-o.brink/64, leastBrink), mostBrink)
}

// restarting notes that a server is being started where one was killed.
func (o *observer) restarting() {
	if o != nil {
		o.reborn.Store(max(int64(o.node.clock()), 1))
	}
}

// unchanged takes a command back that has done nothing.
func (o *observer) unchanged(f *effect) {
	if f != nil {
		o.effects = slices.DeleteFunc(o.effects, func(other *effect) bool { return other == f })
	}
}

// lost looks at what a command has done whose answer will not come. The node may
// have begun to look before it has read the command, but not twice.
func (o *observer) lost(f *effect) {
	if f == nil {
		return
	}
	o.look(cause{})
	f.answered.Store(int64(o.node.clock()))
	o.look(cause{})
}

// late notes that a command that blocked has been answered, or will never be. It
// needs no turn.
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

// anyAnswered says whether the effects of a command that has run were not seen.
func (o *observer) anyAnswered() bool {
	return slices.ContainsFunc(o.effects, func(f *effect) bool { return f.answered.Load() > 0 })
}

// nextEnd is when the next life is over, on the history's clock; 0 = none ends.
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

// grace is how long after the end of a life the observer looks by itself: a node
// that has something to do takes keys away a little later.
const grace = 500 * time.Microsecond

// again is how soon after a look that failed the observer looks again by itself.
const again = 20 * time.Millisecond

// run looks when a life has ended, and when it is asked to.
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

// plan has run look when the next life has ended.
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

// giveUp tells that the node's keys will not be seen any more.
func (o *observer) giveUp(why error) {
	if o == nil || o.blind {
		return
	}
	o.blind = true
	o.effects = nil
	o.disconnect()
	o.log.unseen(o.node.name, why)
}

// patience bounds how long a look takes: as long as a node is given that is asked
// anything else, unless the trial ends.
func (o *observer) patience() time.Duration {
	if o.ending.Load() {
		return patience
	}
	return adminTimeout
}

// connect returns the Looker that there is, or a new one.
func (o *observer) connect() (*look.Looker, error) {
	if o.looker != nil {
		return o.looker, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(o.patience(), dialPatience))
	defer cancel()
	conn, err := o.node.dial(ctx)
	if err != nil {
		return nil, err
	}
	if !o.keep(conn) {
		return nil, net.ErrClosed
	}
	if err := conn.SetDeadline(time.Now().Add(o.patience())); err != nil {
		return nil, err
	}
	o.looker, err = look.New(conn, o.options)
	return o.looker, err
}

// dialPatience is how long a node may take that is to be looked at to be reached.
const dialPatience = time.Second

// keep lets others close the connection, unless they want none any more.
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

// finish looks for the last time, when no client does anything any more.
func (o *observer) finish() {
	if o == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	if !o.node.take(ctx.Done()) {
		return // it is frozen: what it was sent since waits for its turn, and is not sent
	}
	defer o.node.release()
	if _, err := o.node.running(); err != nil || o.blind {
		return
	}
	if !o.look(cause{}) && len(o.effects) > 0 {
		o.giveUp(errors.New("it did not answer any more before the trial's end"))
	}
}

// end is called before the trial is torn down: who does not answer then is not
// waited for long.
func (o *observer) end() {
	if o == nil {
		return
	}
	o.ending.Store(true)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conn != nil {
		_ = o.conn.SetDeadline(time.Now().Add(patience))
	}
}

// close lets go of whoever waits for the node, and ends the observer.
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
