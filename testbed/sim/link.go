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
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// packet is a message on its way, or a connection's beginning or end.
type packet struct {
	pipe   *pipe
	conn   *conn // nil on a replication link
	seq    uint64
	kind   kind
	args   []string       // a request's arguments
	from   *remedy.Sender // who sent a request; nil = no remedy is in force
	number int            // a request's number on its connection, from 1
	data   resp.Message   // a message to the client
	// matters says that stopping the packet counts as a hit. This holds for a recipe's own
	// command, the reply to such a command, a pushed message, and data that a primary sends
	// because of a client's write or an eviction.
	matters bool
	copy    *state // data from a primary to its replica
	offset  uint64 // the primary's count of writes that the packet carries or acknowledges
	// freed is the number of the pipe's latest block when the packet was released from a
	// hold; 0 = the packet was never held.
	freed int
}

type kind int

const (
	opening kind = iota // a connection is requested or accepted
	message             // a request, a reply, or a pushed message that answers no request
	closing             // the sender will send nothing more
	refusal             // the connection is refused
	copying             // replication data or acknowledgement
)

// pipe is one direction of a link.
type pipe struct {
	sim     *simulation
	id      int // unique; decides the pipe's place within every tick
	deliver func(*packet)
	blocks  []*block
	placed  int     // number of blocks placed so far
	stream  *stream // nil for a client's link
	resume  func()  // called when a block that dropped packets ends; nil for a client's link
}

// block is one fault in force on a pipe: a cut, which drops packets, or a hold.
type block struct {
	number  int // among the pipe's blocks, from 1
	drop    bool
	conn    int     // number of the only connection that is blocked; 0 = all
	server  *server // the node of conn: a client's connections are numbered for each node
	dials   bool    // attempts to connect count as hits
	held    []*packet
	dropped bool
	lost    []*conn // connections that lost data, in the order of their first loss
	hits    int
}

// A packet's latency lies between least and least + spread. It is longer if the packet must wait
// for an earlier packet of its flow.
const (
	least  = 50 * time.Microsecond
	spread = 150 * time.Microsecond
)

// send sends a packet. The latency is a hash of the packet's identity, since goroutines would
// race for the draws of a random generator. The simulation's lock is held.
func (y *pipe) send(p *packet, f *flow) {
	p.pipe, p.seq = y, f.sent
	f.sent++
	conn := 0
	if p.conn != nil {
		conn = p.conn.number
	}
	h := mix(y.sim.setup.Seed, uint64(y.id), uint64(conn), p.seq)
	at := align(max(now()+least+time.Duration(h%uint64(spread)), f.last+tick), y.id)
	f.last = at
	y.sim.schedule.add(&event{at: at, pipe: y.id, conn: conn, seq: p.seq, packet: p})
}

// flow keeps the packets of one connection, in one direction, in order.
type flow struct {
	sent     uint64        // number of packets sent
	expected uint64        // number of the next packet to arrive
	last     time.Duration // arrival time of the last packet sent
	severed  bool          // a packet was lost, so that later packets do not arrive
}

// mix hashes numbers as splitmix64 does: every bit of the result depends on every input
// bit.
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

func (p *packet) flow() *flow {
	switch {
	case p.conn == nil:
		return p.pipe.stream.flow(p.pipe)
	case p.pipe == p.conn.link.up:
		return &p.conn.up
	}
	return &p.conn.down
}

// arrive delivers a packet, unless a fault in force or an earlier loss stops it.
func (y *pipe) arrive(p *packet) {
	f := p.flow()
	if f.severed {
		return
	}
	for _, b := range y.blocks {
		if !b.stops(p) {
			continue
		}
		if p.kind == opening {
			p.conn.leaveDialGroup()
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
	if p.seq > f.expected { // an earlier packet is held, and must arrive first
		if b := y.holding(p); b != nil { // a hold may last: this packet is held, too
			b.held = append(b.held, p)
			return
		}
		y.sim.schedule.add(&event{at: align(now()+tick, y.id), pipe: y.id, conn: p.conn.id(), seq: p.seq, packet: p})
		return
	}
	f.expected = max(f.expected, p.seq+1)
	y.deliver(p)
}

// stops reports whether the block stops the packet. A packet that was released from a hold
// is not stopped by holds that were placed after its release. Otherwise a packet might be
// held and released without end.
func (b *block) stops(p *packet) bool {
	return b.concerns(p) && (b.drop || p.freed == 0 || b.number <= p.freed)
}

// concerns reports whether the block applies to the packet's connection.
func (b *block) concerns(p *packet) bool {
	return b.conn == 0 || p.conn != nil && p.conn.number == b.conn && p.conn.server == b.server
}

// holding returns the first hold in force on the packet's connection, nil if there is none.
func (y *pipe) holding(p *packet) *block {
	for _, b := range y.blocks {
		if !b.drop && b.concerns(p) {
			return b
		}
	}
	return nil
}

// block puts a fault in force. The returned function ends the fault: held packets arrive
// soon, in order, and connections that lost data are closed.
func (y *pipe) block(b *block) (lift func()) {
	y.placed++
	b.number = y.placed
	y.blocks = append(y.blocks, b)
	return func() {
		y.blocks = slices.DeleteFunc(y.blocks, func(o *block) bool { return o == b })
		for i, p := range b.held {
			p.freed = y.placed
			at := align(now()+time.Duration(i+1)*tick, y.id)
			y.sim.schedule.add(&event{at: at, pipe: y.id, conn: p.conn.id(), seq: p.seq, packet: p})
		}
		y.sim.abort(y, b.lost)
		if b.dropped && y.resume != nil {
			y.resume()
		}
	}
}

type pipes []*pipe

// block puts a fault in force on each pipe. The returned function ends the faults and returns their
// hits, combined by add.
func (all pipes) block(as block, add func(a, b int) int) (end func() int) {
	blocks, lifts := make([]*block, len(all)), make([]func(), len(all))
	for i, y := range all {
		b := as
		blocks[i], lifts[i] = &b, y.block(&b)
	}
	return func() (hits int) {
		for i, b := range blocks {
			hits = add(hits, b.hits)
			lifts[i]()
		}
		return hits
	}
}

// link is the pair of pipes between a client and the node that it uses.
type link struct {
	sim       *simulation
	client    int
	target    *server
	up, down  *pipe
	conns     []*conn // connections that have not ended, in the order of dialling
	resets    []*resets
	dialGroup *dialGroup // the latest group of dials that began at one instant
}

func (w *simulation) newLink(client int, target *server) *link {
	l := &link{sim: w, client: client, target: target}
	l.up = w.newPipe(func(p *packet) { p.conn.server.receive(p) })
	l.down = w.newPipe(func(p *packet) { p.conn.receive(p) })
	return l
}

func (w *simulation) newPipe(deliver func(*packet)) *pipe {
	w.pipes++
	return &pipe{sim: w, id: w.pipes, deliver: deliver}
}

// dial makes one connection through the gate.
func (l *link) dial(ctx context.Context) (net.Conn, error) {
	c, err := l.open(ctx, false)
	if err != nil {
		return nil, err // not c, which would be a nil pointer in a non-nil net.Conn
	}
	return c, nil
}

// open dials. If jointly is true, the connection is indistinguishable from other connections that
// are opened jointly at the same instant.
func (l *link) open(ctx context.Context, jointly bool) (*gate.Conn, error) {
	l.sim.mu.Lock()
	name := l.target.name
	l.sim.mu.Unlock()
	return l.sim.Gate.Dial(ctx, l.client, name, func(ctx context.Context, gc *gate.Conn) (net.Conn, error) {
		return l.connect(ctx, gc, jointly)
	})
}

// connect is the part of dialling below the gate. A failure takes virtual time too:
// otherwise code that retries immediately would stop the clock.
func (l *link) connect(ctx context.Context, gc *gate.Conn, jointly bool) (net.Conn, error) {
	w := l.sim
	w.mu.Lock()
	if w.schedule.closed {
		w.mu.Unlock()
		return nil, net.ErrClosed
	}
	c := &conn{link: l, server: l.target, gc: gc, number: gc.Number(), dialled: make(chan error, 1)}
	gc.Observe()
	l.conns = append(l.conns, c)
	if jointly {
		l.joinDialGroup(c)
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
		c.leaveDialGroup()
		w.mu.Unlock()
		c.Close()
		return nil, ctx.Err()
	}
}

// retarget connects the link to another node and closes the link's connections to the old node.
func (l *link) retarget(to *server) {
	if l.target == to {
		return
	}
	l.target = to
	l.sim.abort(l.down, l.conns)
}

// abort closes connections soon, one after another, so that their clients do not wake at the
// same instant.
func (w *simulation) abort(y *pipe, conns []*conn) {
	for i, c := range conns {
		w.schedule.add(&event{
			at: align(now()+time.Duration(i+1)*tick, y.id), pipe: y.id, conn: c.number, do: func() { c.abort(io.EOF) },
		})
	}
}

// Errors of connections, as a client sees them.
var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errReset   = os.NewSyscallError("read", syscall.ECONNRESET)
	errPipe    = os.NewSyscallError("write", syscall.EPIPE)
)

// address returns the address of the node with this index: an IP literal, so that clients
// look up no name.
func address(index int) string { return fmt.Sprintf("10.0.0.%d:6379", index+1) }
