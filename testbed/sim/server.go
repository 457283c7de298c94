package sim

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/testbed/resp"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// server is the process of one Redis node. It may be down or frozen, have a wrong clock,
// and be a primary or a replica. The simulation's lock guards it.
type server struct {
	sim      *simulation
	name     string
	index    int
	node     *node.Node
	down     bool
	pauses   []*freeze
	backlog  []*packet     // packets that came while the node was frozen or catching up
	catching bool          // the node works off the backlog after a pause
	skew     time.Duration // lead of the wall clock
	executed int           // number of commands, including the running one
	ran      int           // number of commands, without the running one
	conns    []*conn       // connections with a session, in the order of connecting
	disk     disk
	expiring time.Duration // time of the next deletion of an expired key; 0 = none
	replication
}

// freeze is one Pause of a node in force, with its hits so far.
type freeze struct{ hits int }

// wall returns the time of the node's wall clock.
func (s *server) wall() time.Time { return epoch.Add(now() + s.skew) }

// receive handles a packet from a client at the node's end.
func (s *server) receive(p *packet) {
	c := p.conn
	switch {
	case s.down && p.kind == opening:
		c.link.down.send(&packet{conn: c, kind: refusal}, &c.down)
		return
	case s.down || c.ended:
		return
	case p.kind == opening: // the kernel accepts even for a frozen process
		s.accept(c)
		return
	case s.frozen():
		if p.kind == message {
			for _, f := range s.pauses {
				f.hits++
			}
		}
		s.backlog = append(s.backlog, p)
		return
	}
	s.handle(p)
}

func (s *server) accept(c *conn) {
	for _, r := range c.link.resets {
		r.refuse(c)
		return
	}
	c.session = s.node.Connect()
	s.conns = append(s.conns, c)
	c.link.down.send(&packet{conn: c, kind: opening}, &c.down)
}

func (s *server) handle(p *packet) {
	c := p.conn
	switch {
	case c.ended:
	case p.kind == closing:
		s.hangUp(c)
	case c.waiting != nil:
		c.behind = append(c.behind, p) // Redis runs a connection's requests in order
	default:
		s.execute(p)
	}
}

// execute runs one command, atomically.
func (s *server) execute(p *packet) {
	c := p.conn
	if r := s.sim.setup.Remedies; r.On(remedy.NoLateMessage) && r.Late(p.from) {
		r.Act()
		return
	}
	s.executed++
	c.gc.Arrived(p.number, s.name, s.executed)
	name := strings.ToUpper(p.args[0])
	s.expire() // here, so that expiries do not count as the command's changes
	if name == "WAIT" && !c.session.Queueing() {
		s.wait(p)
		return
	}
	before := s.node.Writes()
	reply, pushes := s.run(p)
	if s.node.Writes() != before {
		s.wrote(true)
	}
	c.seen = s.written
	if resp.Lookup(name).Is(resp.Subscribes) {
		s.replies(p, reply)
	} else {
		s.reply(p, reply)
	}
	for _, push := range pushes {
		s.push(push)
	}
	if name == "QUIT" {
		s.drop(c)
	}
}

func (s *server) run(p *packet) (reply []byte, pushes []node.Push) {
	s.node.From(p.from)
	reply, pushes = p.conn.session.Exec(s.wall(), p.args)
	s.node.From(nil)
	s.ran = s.executed
	return reply, pushes
}

// drop closes a connection at the node's end and informs the client.
func (s *server) drop(c *conn) {
	s.hangUp(c)
	c.link.down.send(&packet{conn: c, kind: closing}, &c.down)
}

func (s *server) reply(p *packet, data resp.Message) {
	p.conn.gc.Served(p.number, data)
	p.conn.link.down.send(&packet{conn: p.conn, kind: message, data: data, matters: p.matters}, &p.conn.down)
}

// replies answers a SUBSCRIBE or similar command, with one message for each channel or pattern.
func (s *server) replies(p *packet, data []byte) {
	r := resp.NewReader(bytes.NewReader(data))
	var all []resp.Message
	for {
		m, err := resp.Read(r)
		if err != nil {
			break // end of the reply
		}
		all = append(all, m)
	}
	for _, m := range all[:len(all)-1] {
		p.conn.link.down.send(&packet{conn: p.conn, kind: message, data: m}, &p.conn.down)
	}
	s.reply(p, all[len(all)-1])
}

// push sends a session a message that answers no request.
func (s *server) push(p node.Push) {
	i := slices.IndexFunc(s.conns, func(c *conn) bool { return c.session == p.To })
	if i < 0 {
		return
	}
	c := s.conns[i]
	c.link.down.send(&packet{conn: c, kind: message, data: p.Message, matters: true}, &c.down)
}

// hangUp closes the node's end of a connection.
func (s *server) hangUp(c *conn) {
	if c.ended {
		return
	}
	c.ended = true
	c.waiting, c.behind = nil, nil
	s.waits = slices.DeleteFunc(s.waits, func(w *waiting) bool { return w.request.conn == c })
	if c.session != nil {
		c.session.Close()
		s.conns = slices.DeleteFunc(s.conns, func(o *conn) bool { return o == c })
	}
	c.gc.NodeEnded()
}

// kill ends the process: its connections break, and its backlog is lost.
func (s *server) kill() {
	s.down = true
	s.node.Unwatch()
	s.keepAll()
	s.disk.die()
	s.backlog = nil
	for _, c := range slices.Clone(s.conns) {
		s.drop(c)
	}
}

// start restarts a killed process with the durable data of its disk.
func (s *server) start() (lost history.Lost) {
	s.down = false
	s.pauses = nil
	s.node.Restarted()
	lost = s.disk.load(s)
	s.expire()
	return lost
}

// frozen reports whether new requests must wait: the node is paused or still works off its
// backlog.
func (s *server) frozen() bool { return len(s.pauses) > 0 || s.catching }

// serving is the time that a node takes for each command of a backlog. So after a pause, the
// first clients to be answered go on before the node serves the last ones.
const serving = 20 * tick

// thaw ends a pause. When no pause is left, the backlog runs in order. For each request, the node's
// clock shows the time at which the request runs, not the time at which the request arrived.
func (s *server) thaw(f *freeze) {
	s.pauses = slices.DeleteFunc(s.pauses, func(o *freeze) bool { return o == f })
	if len(s.pauses) > 0 || s.down {
		return
	}
	s.expire()
	if !s.catching {
		s.catching = true
		s.catchUp()
	}
}

// catchUp handles the first packet of the backlog and schedules a call of itself for the next
// one. It stops when the backlog is empty, or the node is paused again or killed.
func (s *server) catchUp() {
	if len(s.backlog) == 0 || len(s.pauses) > 0 || s.down {
		s.catching = false
		s.overdue()
		return
	}
	p := s.backlog[0]
	s.backlog = s.backlog[1:]
	switch {
	case p.kind == copying && p.copy != nil:
		s.follow(p)
	case p.kind == copying:
		s.heard(p)
	default:
		s.handle(p)
	}
	s.sim.schedule.add(&event{
		at: align(now()+serving, p.pipe.id), pipe: p.pipe.id, conn: p.conn.id(), seq: p.seq, do: s.catchUp,
	})
}

// overdue answers the WAITs that ended while the node was frozen.
func (s *server) overdue() {
	for _, w := range slices.Clone(s.waits) {
		if w.over {
			s.answer(w)
		}
	}
}
