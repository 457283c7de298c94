package sim

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/testbed/gate"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// packet is a message on its way, or a connection's beginning or end.
type packet struct {
	way    *way
	conn   *conn // nil on a replication link
	seq    uint64
	kind   kind
	args   []string     // of a request
	number int          // of a request on its connection, from 1
	data   resp.Message // of a reply
	// matters says that a fault which stops the packet has hit something: a
	// recipe's own command or its reply, or a client's write for a replica.
	matters bool
	copy    *state // what a primary sends its replica
	offset  uint64 // what a replica acknowledges
}

type kind int

const (
	opening kind = iota // a connection is asked for, or granted
	message             // a request or a reply
	closing             // an end says that it will send nothing more
	refusal             // an end says that there is no such connection
	copying             // replication: data, or its acknowledgement
)

// way is one direction of a link.
type way struct {
	world   *world
	id      int // unique; also its place within every tick
	deliver func(*packet)
	blocks  []*block
	resume  func() // after something was dropped; nil for a client's link
}

// block is a fault in force on a way.
type block struct {
	drop    bool
	conn    int     // only this connection; 0 = all
	server  *server // to this node, if conn is given: each counts its own
	dials   bool    // attempts to connect are hits, too
	held    []*packet
	dropped bool
	lost    []*conn // that lost data, in the order of their first loss
	hits    int
}

// latencies of one message: from least, up to spread more.
const (
	least  = 50 * time.Microsecond
	spread = 150 * time.Microsecond
)

// send puts a packet on its way. Its latency is a hash of the packet, not a draw from a
// generator, for which goroutines would race. The world's lock is held.
func (y *way) send(p *packet, f *flow) {
	p.way, p.seq = y, f.sent
	f.sent++
	conn := 0
	if p.conn != nil {
		conn = p.conn.number
	}
	h := mix(y.world.setup.Seed, uint64(y.id), uint64(conn), p.seq)
	at := align(max(now()+least+time.Duration(h%uint64(spread)), f.last+tick), y.id)
	f.last = at
	y.world.schedule.add(&event{at: at, way: y.id, conn: conn, seq: p.seq, packet: p})
}

// flow keeps one direction of one connection in order.
type flow struct {
	sent     uint64        // packets, ever
	expected uint64        // the packet that arrives next
	last     time.Duration // when the last one sent is to arrive
	severed  bool          // something was lost, and nothing arrives after it
}

// mix hashes numbers as splitmix64 does: every bit of the result depends on
// every bit of each.
func mix(values ...uint64) uint64 {
	var h uint64
	for _, v := range values {
		h += v + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// flow returns the flow that the packet belongs to.
func (p *packet) flow() *flow {
	switch {
	case p.conn == nil:
		return p.way.world.streamOf(p.way).flow(p.way)
	case p.way == p.conn.link.up:
		return &p.conn.up
	}
	return &p.conn.down
}

// arrive takes a packet through the faults in force to the end of its way.
func (y *way) arrive(p *packet) {
	f := p.flow()
	if f.severed {
		return
	}
	for _, b := range y.blocks {
		if !b.stops(p) {
			continue
		}
		if p.kind == opening {
			p.conn.leave()
		}
		if p.matters || b.dials && p.kind == opening {
			b.hits++
		}
		if !b.drop {
			b.held = append(b.held, p)
			return
		}
		f.expected = max(f.expected, p.seq+1)
		f.severed = p.conn != nil
		b.dropped = true
		if p.conn != nil && !slices.Contains(b.lost, p.conn) {
			b.lost = append(b.lost, p.conn)
		}
		return
	}
	if p.seq > f.expected { // held packets, which arrive soon, come first
		y.world.schedule.add(&event{at: align(now()+tick, y.id), way: y.id, conn: p.conn.id(), seq: p.seq, packet: p})
		return
	}
	f.expected = max(f.expected, p.seq+1)
	y.deliver(p)
}

// stops says whether the block is in the packet's way.
func (b *block) stops(p *packet) bool {
	return b.conn == 0 || p.conn != nil && p.conn.number == b.conn && p.conn.server == b.server
}

// block puts a fault in force; the returned function ends it. What was held
// arrives soon after, in order; connections that lost data end.
func (y *way) block(b *block) (lift func()) {
	y.blocks = append(y.blocks, b)
	return func() {
		y.blocks = slices.DeleteFunc(y.blocks, func(o *block) bool { return o == b })
		for i, p := range b.held {
			at := align(now()+time.Duration(i+1)*tick, y.id)
			y.world.schedule.add(&event{at: at, way: y.id, conn: p.conn.id(), seq: p.seq, packet: p})
		}
		y.world.abort(y, b.lost)
		if b.dropped && y.resume != nil {
			y.resume()
		}
	}
}

// link is the two ways between one client and the node that it is meant to use.
type link struct {
	world    *world
	client   int
	target   *server
	up, down *way
	conns    []*conn // not ended yet, in the order of dialling
	resets   []*resets
	joint    *joint // the last dials that were begun at one instant
}

func (w *world) newLink(client int, target *server) *link {
	l := &link{world: w, client: client, target: target}
	l.up = w.newWay(func(p *packet) { p.conn.server.receive(p) })
	l.down = w.newWay(func(p *packet) { p.conn.receive(p) })
	return l
}

func (w *world) newWay(deliver func(*packet)) *way {
	w.ways++
	return &way{world: w, id: w.ways, deliver: deliver}
}

// dial makes one connection through the gate.
func (l *link) dial(ctx context.Context) (net.Conn, error) {
	c, err := l.open(ctx, false)
	if err != nil {
		return nil, err // not a nil *Conn
	}
	return c, nil
}

// open is dial; jointly makes the connection indistinguishable from others that are asked
// for at this instant.
func (l *link) open(ctx context.Context, jointly bool) (*gate.Conn, error) {
	l.world.mu.Lock()
	name := l.target.name
	l.world.mu.Unlock()
	return l.world.gate.Dial(ctx, l.client, name, func(ctx context.Context, gc *gate.Conn) (net.Conn, error) {
		return l.connect(ctx, gc, jointly)
	})
}

// connect is the part of dialling below the gate. Its failure costs time too:
// code that tries again at once would stop the clock.
func (l *link) connect(ctx context.Context, gc *gate.Conn, jointly bool) (net.Conn, error) {
	w := l.world
	w.mu.Lock()
	if w.schedule.closed {
		w.mu.Unlock()
		return nil, net.ErrClosed
	}
	c := &conn{link: l, server: l.target, gc: gc, number: gc.Number(), dialled: make(chan error, 1)}
	gc.Observe()
	l.conns = append(l.conns, c)
	if jointly {
		l.join(c)
	}
	l.up.send(&packet{conn: c, kind: opening}, &c.up)
	w.mu.Unlock()
	select {
	case err := <-c.dialled:
		if err != nil {
			return nil, err
		}
		return c, nil
	case <-ctx.Done():
		w.mu.Lock()
		c.leave()
		w.mu.Unlock()
		c.Close()
		return nil, ctx.Err()
	}
}

// retarget leads the link to another node and ends its connections to the old one.
func (l *link) retarget(to *server) {
	if l.target == to {
		return
	}
	l.target = to
	l.world.abort(l.down, l.conns)
}

// abort closes connections soon, one after another: their clients must not all be
// woken at one instant.
func (w *world) abort(y *way, conns []*conn) {
	for i, c := range conns {
		w.schedule.add(&event{
			at: align(now()+time.Duration(i+1)*tick, y.id), way: y.id, conn: c.number, do: func() { c.abort(io.EOF) },
		})
	}
}

// Errors of connections, as a client sees them.
var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errReset   = os.NewSyscallError("read", syscall.ECONNRESET)
	errPipe    = os.NewSyscallError("write", syscall.EPIPE)
)

// address of a client's link to the node of that index: an IP literal, so that no name is
// looked up.
func address(index int) string { return fmt.Sprintf("10.0.0.%d:6379", index+1) }
