package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// replication is a server's part in it.
type replication struct {
	primary *server   // that it follows; nil for a primary
	written uint64    // by clients of a primary, and its predecessors
	streams []*stream // to its replicas
	waits   []*waiting
}

// stream is the link between a replica and its primary.
type stream struct {
	primary, replica *server
	up, down         *way // acknowledgements, data
	toReplica        flow
	toPrimary        flow
	acked            uint64
	gone             bool
}

// state is a primary's data, as its replicas get it.
type state struct {
	stream *stream
	data   node.Snapshot
}

// streamOf finds the stream that a way belongs to.
func (w *world) streamOf(y *way) *stream {
	i := slices.IndexFunc(w.streams, func(s *stream) bool { return s.up == y || s.down == y })
	return w.streams[i]
}

func (s *stream) flow(y *way) *flow {
	if y == s.down {
		return &s.toReplica
	}
	return &s.toPrimary
}

// replicate makes one server follow another: it gets all data, soon.
func (w *world) replicate(replica, primary *server) {
	replica.leave()
	replica.primary = primary
	replica.node.SetReadOnly(true)
	st := &stream{primary: primary, replica: replica}
	st.down = w.newWay(func(p *packet) { replica.copied(p) })
	st.up = w.newWay(func(p *packet) { primary.acknowledged(p) })
	// Whoever missed something on either way asks for it again.
	st.down.resume, st.up.resume = st.send, st.send
	w.streams = append(w.streams, st)
	primary.streams = append(primary.streams, st)
	st.send()
}

// leave ends a replica's following.
func (s *server) leave() {
	if s.primary == nil {
		return
	}
	for _, st := range s.primary.streams {
		st.gone = st.gone || st.replica == s
	}
	s.primary.streams = slices.DeleteFunc(s.primary.streams, func(st *stream) bool { return st.replica == s })
	s.primary = nil
}

// send gives the replica the data as they are now.
func (st *stream) send() {
	p := st.primary
	st.down.send(&packet{
		kind: copying, copy: &state{stream: st, data: p.node.Snapshot(p.wall())}, offset: p.written,
	}, &st.toReplica)
}

// wrote says that a command, or something else, has changed the data.
func (s *server) wrote() {
	s.written++
	s.disk.wrote(s)
	for _, st := range s.streams {
		st.send()
	}
}

// copied takes what the primary sent.
func (s *server) copied(p *packet) {
	switch {
	case p.copy.stream.gone || s.down:
	case len(s.pauses) > 0:
		s.backlog = append(s.backlog, p)
	default:
		s.follow(p)
	}
}

// follow makes the primary's data the replica's own.
func (s *server) follow(p *packet) {
	st := p.copy.stream
	if st.gone {
		return
	}
	s.node.Load(s.wall(), p.copy.data)
	s.disk.wrote(s)
	st.up.send(&packet{kind: copying, offset: p.offset}, &st.toPrimary)
}

// acknowledged notes how far a replica is, and answers who waited for it.
func (s *server) acknowledged(p *packet) {
	if len(s.pauses) > 0 && !s.down {
		s.backlog = append(s.backlog, p)
		return
	}
	st := s.world.streamOf(p.way)
	st.acked = max(st.acked, p.offset)
	for _, w := range slices.Clone(s.waits) {
		if s.replicas(w.offset) >= w.replicas {
			s.answer(w)
		}
	}
}

// replicas counts those that have a write.
func (s *server) replicas(offset uint64) int {
	n := 0
	for _, st := range s.streams {
		if st.acked >= offset {
			n++
		}
	}
	return n
}

// waiting is a client in a WAIT.
type waiting struct {
	request  *packet
	replicas int
	offset   uint64
	over     bool // its time is, while the node was frozen
}

// wait is the command WAIT: it is answered when enough replicas have all that was
// written when the connection's last command ran, or when its time is over
// (https://redis.io/commands/wait). The node itself knows what is wrong with it.
func (s *server) wait(p *packet, args []string) {
	reply, _ := p.conn.session.Exec(s.wall(), args)
	if reply[0] == '-' {
		s.reply(p, reply)
		return
	}
	replicas, _ := strconv.Atoi(args[1])
	patience, _ := strconv.Atoi(args[2])
	patience = min(patience, maxWait)
	w := &waiting{request: p, replicas: replicas, offset: p.conn.seen}
	p.conn.waiting = w
	s.waits = append(s.waits, w)
	if s.replicas(w.offset) >= replicas {
		s.answer(w)
		return
	}
	if patience > 0 {
		y := p.conn.link.up
		s.world.schedule.add(&event{
			at:  align(now()+time.Duration(patience)*time.Millisecond, y.id),
			way: y.id, conn: p.conn.number, seq: p.seq,
			do: func() { s.answer(w) },
		})
	}
}

// maxWait is more milliseconds than any trial has.
const maxWait = 1 << 40

// answer ends a WAIT, and runs what its connection sent meanwhile.
func (s *server) answer(w *waiting) {
	c := w.request.conn
	if c.waiting != w || s.down {
		return
	}
	if len(s.pauses) > 0 { // it is answered when the node goes on
		w.over = true
		return
	}
	c.waiting = nil
	s.waits = slices.DeleteFunc(s.waits, func(o *waiting) bool { return o == w })
	s.reply(w.request, []byte(":"+strconv.Itoa(s.replicas(w.offset))+"\r\n"))
	for len(c.behind) > 0 && c.waiting == nil {
		next := c.behind[0]
		c.behind = c.behind[1:]
		s.handle(next)
	}
}
