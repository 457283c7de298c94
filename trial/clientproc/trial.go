package clientproc

import (
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/workloads"
)

// trial has the methods that client processes call through net/rpc. Each call has a goroutine of its
// own. A client may have several calls open: for example, it may report the loss of a lease (Event) at
// any time.
type trial struct {
	host    *Host
	process *process
	world   World
	hello   Hello
}

// Hello returns the client's number and settings.
func (t *trial) Hello(_ None, hello *Hello) error {
	*hello = t.hello
	return nil
}

// Ready says that the client has its connections. It returns when Run has let all clients
// begin.
func (t *trial) Ready(None, *None) error {
	if err := t.process.reach(running, End{}, t.host.now); err != nil {
		return err
	}
	select {
	case <-t.host.begun:
		return nil
	case <-t.host.ctx.Done():
		return t.host.ctx.Err()
	}
}

// Step passes the process's step on to testbed.Client.Step.
func (t *trial) Step(name string, _ *None) error {
	return t.world.Env.Client(t.process.id).Step(t.host.ctx, name)
}

// Work calls testbed.Client.Work, and says whether the work is prolonged.
func (t *trial) Work(_ None, prolonged *bool) error {
	done, err := t.world.Env.Client(t.process.id).Work(t.host.ctx)
	*prolonged = done != nil
	t.process.mu.Lock()
	defer t.process.mu.Unlock()
	t.process.work = done
	return err
}

// Worked returns when the work that Work called prolonged is done.
func (t *trial) Worked(None, *None) error {
	t.process.mu.Lock()
	done := t.process.work
	t.process.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-t.host.ctx.Done():
		return t.host.ctx.Err()
	}
}

// Open passes the index of the process's open invocation on to testbed.Client.Open.
func (t *trial) Open(op int, _ *None) error {
	t.world.Env.Client(t.process.id).Open(op)
	return nil
}

// Passed returns when w.Bytes bytes of the connection w.Conn have passed the gate, or when no more will pass.
func (t *trial) Passed(w Written, _ *None) error {
	t.host.relay.await(w.Conn, w.Bytes)
	return nil
}

// Invoke passes an invocation on to the trial's recorder.
func (t *trial) Invoke(op history.Op, entry *history.Op) (err error) {
	*entry, err = t.world.Rec.Invoke(op)
	return err
}

// Complete passes a completion on to the trial's recorder.
func (t *trial) Complete(op history.Op, entry *history.Op) (err error) {
	*entry, err = t.world.Rec.Complete(op)
	return err
}

// Event passes an event on to the trial's recorder.
func (t *trial) Event(op history.Op, entry *history.Op) (err error) {
	*entry, err = t.world.Rec.Event(op)
	return err
}

// End passes the last entry of the history on to the trial's recorder.
func (t *trial) End(l Last, _ *None) error { return t.world.Rec.End(l.Op, l.At) }

// Touch reads or writes a guarded resource.
func (t *trial) Touch(use Touch, answer *workloads.Answer) (err error) {
	r, ok := t.world.Resources[use.Lock]
	switch {
	case !ok:
		err = fmt.Errorf("no lock %q", use.Lock)
	case use.Write:
		*answer, err = r.Write(use.Fence, use.Values)
	default:
		*answer, err = r.Read(use.Fence)
	}
	return err
}

// Late reports a gap in the client's activity, and returns the longest lateness so far.
func (t *trial) Late(g Gap, longest *time.Duration) (err error) {
	*longest, err = t.world.Stalled(t.process.lateness(g))
	return err
}

// Healed returns when the liveness phase begins.
func (t *trial) Healed(None, *None) error {
	select {
	case <-t.host.healed:
		return nil
	case <-t.host.ctx.Done():
		return t.host.ctx.Err()
	}
}

// Ended reports that the client's session has ended, and returns when all sessions have.
func (t *trial) Ended(e End, _ *None) error {
	if err := t.process.reach(done, e, t.host.now); err != nil {
		return err
	}
	select {
	case <-t.host.over:
		return nil
	case <-t.host.ctx.Done():
		return t.host.ctx.Err()
	}
}

// Stay returns when the host is closed.
func (t *trial) Stay(None, *None) error {
	<-t.host.ctx.Done()
	return nil
}
