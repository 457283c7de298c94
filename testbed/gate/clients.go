package gate

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// pause is one PauseClient in force, with its hits so far. Gate.mu guards it.
type pause struct {
	hits int
}

// PauseClient implements testbed.Clients. The undo returns the number of steps, commands, replies
// and dials that waited at the gate.
func (g *Gate) PauseClient(client int) (testbed.Undo, error) {
	g.mu.Lock()
	cl, err := g.client(client)
	if err != nil {
		g.mu.Unlock()
		return nil, err
	}
	p := new(pause)
	var froze []locks.Process
	if !cl.crashed {
		if len(cl.pauses) == 0 {
			froze = cl.adopted
		}
		if len(cl.pauses) == 0 {
			cl.pausedAt = time.Now()
		}
		cl.pauses = append(cl.pauses, p)
		cl.changed()
	}
	g.mu.Unlock()
	for _, process := range froze {
		process.Freeze()
	}
	return func(context.Context) (int, error) {
		g.endPause(cl, p)
		g.mu.Lock()
		defer g.mu.Unlock()
		return p.hits, nil
	}, nil
}

// endPause ends a pause, if it is still in force.
func (g *Gate) endPause(cl *gateClient, p *pause) {
	g.mu.Lock()
	at := slices.Index(cl.pauses, p)
	var leaving []net.Conn
	var thawed []locks.Process
	if at >= 0 {
		cl.pauses = slices.Delete(cl.pauses, at, at+1)
		if len(cl.pauses) == 0 {
			leaving, thawed = cl.thaw(), cl.adopted
		}
	}
	g.unlock()
	for _, process := range thawed {
		process.Thaw()
	}
	for _, c := range leaving {
		c.Close()
	}
}

// thaw lets the client go on after its last pause. It postpones the client's deadlines by
// the length of the pause, so that a reply that came in time does not time out. If the client
// closed connections during the pause, thaw returns their inner connections, which the
// caller closes.
func (cl *gateClient) thaw() (leaving []net.Conn) {
	now := time.Now()
	staying := cl.conns[:0:0]
	for _, c := range cl.conns {
		c.readBy.shift(cl.pausedAt, now.Add(c.gate.staggered(waiter{cl, c, reading})))
		c.writeBy.shift(cl.pausedAt, now.Add(c.gate.staggered(waiter{cl, c, writing})))
		if c.closed {
			leaving = append(leaving, c.inner)
		} else {
			staying = append(staying, c)
		}
	}
	cl.conns = staying
	cl.changed()
	return leaving
}

// Awake implements testbed.Client. A pause does not count the wait as a hit, since the wait
// does not prove that the pause delayed anything. When the client is resumed, Awake returns
// at the same instant as a waiting step.
func (g *Gate) Awake(ctx context.Context, client int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	cl, err := g.client(client)
	if err != nil {
		return err
	}
	return g.proceed(ctx, waiter{client: cl, role: noticing})
}

// CrashClient implements testbed.Clients. The client's code gets no more answers: reads and writes end at
// their deadlines, dials end with their contexts. A read, write or dial without a deadline ends after
// lastWait. All end when the gate is closed. The client's processes are killed.
func (g *Gate) CrashClient(client int) error {
	g.mu.Lock()
	cl, err := g.client(client)
	if err != nil {
		g.mu.Unlock()
		return err
	}
	cl.crashed = true
	cl.pauses = nil
	for _, c := range cl.conns {
		c.clientEnded()
		c.lastDeadlines()
	}
	cl.changed()
	adopted := cl.adopted
	g.unlock()
	for _, process := range adopted {
		process.Kill()
	}
	return nil
}

// skewed tells the client's processes of the lead of its wall clock.
func (g *Gate) skewed(client int, offset time.Duration) {
	g.mu.Lock()
	adopted := g.clients[client].adopted
	g.mu.Unlock()
	for _, p := range adopted {
		p.Skew(offset)
	}
}

// adopt makes a process frozen, killed and skewed with the client, at once if the client is so now.
func (g *Gate) adopt(client int, p locks.Process, offset time.Duration) {
	g.mu.Lock()
	cl := g.clients[client]
	cl.adopted = append(cl.adopted, p)
	frozen, crashed := len(cl.pauses) > 0, cl.crashed
	g.mu.Unlock()
	if offset != 0 {
		p.Skew(offset)
	}
	if frozen {
		p.Freeze()
	}
	if crashed {
		p.Kill()
	}
}

// InOperation reports whether a living client has an incomplete invocation, and returns the
// crashed clients that have one. An invocation is incomplete from Open(op) to Open(-1).
func (g *Gate) InOperation() (living bool, crashed []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, cl := range g.clients {
		switch {
		case cl.op < 0:
		case cl.crashed:
			crashed = append(crashed, cl.id)
		default:
			living = true
		}
	}
	return living, crashed
}

// lastWait is how long a read, a write or a dial of a crashed client waits if nothing else
// ends it. The code of a crashed client must not keep the trial from ending. The wait may be
// short, because nothing that this code does afterwards reaches a node or the history.
const lastWait = 3 * time.Second

// lastDeadlines sets deadlines for the reads and writes of a crashed client's connection if
// they have no deadline. mu is held.
func (c *Conn) lastDeadlines() {
	end := time.Now().Add(lastWait)
	if c.readBy.at.IsZero() {
		c.readBy.at = end
		c.signal()
	}
	if c.writeBy.at.IsZero() {
		c.writeBy.at = end
		broadcast(&c.wake)
	}
}

// setDeadlines implements SetDeadline, SetReadDeadline and SetWriteDeadline.
func (c *Conn) setDeadlines(t time.Time, read, write bool) error {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	d := deadline{at: t}
	if len(c.client.pauses) > 0 {
		d.set = time.Now()
	}
	if read {
		c.readBy = d
		c.signal()
	}
	if write {
		c.writeBy = d
		broadcast(&c.wake)
	}
	if c.client.crashed {
		c.lastDeadlines()
	}
	return nil
}

// deadline is the deadline of a connection's reads or writes.
type deadline struct {
	at  time.Time // zero = none
	set time.Time // when the deadline was set, if the client was paused then; zero = it was not
}

func (d deadline) passed() bool {
	return !d.at.IsZero() && !time.Now().Before(d.at)
}

// shift postpones the deadline by the length of the pause between from and to. If the deadline was
// set during the pause, shift postpones it by the rest of the pause. A deadline before from does
// not change.
func (d *deadline) shift(from, to time.Time) {
	if d.at.IsZero() || d.at.Before(from) {
		return
	}
	if d.set.After(from) {
		from = d.set
	}
	d.at = d.at.Add(to.Sub(from))
}
