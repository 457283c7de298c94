package gate

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// pause is one fault that holds a client. Gate.mu guards it.
type pause struct {
	hits int
}

// PauseClient is Clients.PauseClient. Hits counts what waited at the gate: steps,
// commands, replies and dials.
func (g *Gate) PauseClient(client int) (testbed.Undo, error) {
	g.mu.Lock()
	cl, err := g.client(client)
	if err != nil {
		g.mu.Unlock()
		return nil, err
	}
	p := new(pause)
	if !cl.crashed {
		if len(cl.pauses) == 0 {
			cl.pausedAt = time.Now()
		}
		cl.pauses = append(cl.pauses, p)
		cl.changed()
	}
	g.mu.Unlock()
	if g.outside() {
		if err := g.processes.Freeze(client); err != nil {
			g.resume(cl, p)
			return nil, err
		}
	}
	return func(context.Context) (int, error) {
		var err error
		if g.resume(cl, p) && g.outside() {
			err = g.processes.Thaw(client)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		return p.hits, err
	}, nil
}

// resume ends a pause, unless it has ended already.
func (g *Gate) resume(cl *gateClient, p *pause) (ended bool) {
	g.mu.Lock()
	at := slices.Index(cl.pauses, p)
	var leaving []net.Conn
	if at >= 0 {
		cl.pauses = slices.Delete(cl.pauses, at, at+1)
		if len(cl.pauses) == 0 {
			leaving = cl.resumed()
		}
	}
	g.unlock()
	for _, c := range leaving {
		c.Close()
	}
	return at >= 0
}

// resumed lets the client go on after its last pause. Its deadlines stood still
// meanwhile: data that came in time is not lost to a timeout. It returns the connections
// that the client closed during the pause; the caller closes them.
func (cl *gateClient) resumed() (leaving []net.Conn) {
	now := time.Now()
	staying := cl.conns[:0:0]
	for _, c := range cl.conns {
		c.unfreeze()
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

// CrashClient is Clients.CrashClient. To the code that ran in the client it looks
// as if nothing were ever answered: reads and writes end with their deadlines,
// dials with their contexts, all at the latest when the gate is closed. A process
// is killed.
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
		for _, r := range c.records.Live() {
			r.unread = false
		}
		c.clientEnded()
	}
	cl.changed()
	g.unlock()
	if g.outside() {
		return g.processes.Kill(client)
	}
	return nil
}

// deadline of a connection's reads or writes.
type deadline struct {
	at  time.Time // zero = none
	set time.Time // when it was set, if that was during a pause
}

func (d deadline) passed() bool {
	return !d.at.IsZero() && !time.Now().Before(d.at)
}

// shift moves the deadline by the time in which its clock stood still.
func (d *deadline) shift(from, to time.Time) {
	if d.at.IsZero() || d.at.Before(from) {
		return
	}
	if d.set.After(from) {
		from = d.set
	}
	d.at = d.at.Add(to.Sub(from))
}
