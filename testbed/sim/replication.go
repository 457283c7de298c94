package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

type replication struct {
	primary *server   // the primary of this replica; nil if the server is no replica
	written uint64    // number of changes of a primary's data, those of earlier primaries included
	asked   uint64    // number of changes that clients or evictions caused
	streams []*stream // a primary's streams to its replicas
	waits   []*waiting
}

// stream is the link between a replica and its primary.
type stream struct {
	primary, replica *server
	up, down         *pipe // up carries acknowledgements, down data
	toReplica        flow
	toPrimary        flow
	acked            uint64
	heard            bool // the replica has acknowledged something
	gone             bool
}

// state is a copy of a primary's data on its way to a replica.
type state struct {
	stream *stream
	data   node.Snapshot
}

func (s *stream) flow(y *pipe) *flow {
	if y == s.down {
		return &s.toReplica
	}
	return &s.toPrimary
}

// replicate makes replica follow primary, and sends the replica all data.
func (w *simulation) replicate(replica, primary *server) {
	replica.leave()
	replica.primary = primary
	replica.node.SetReadOnly(true)
	st := &stream{primary: primary, replica: replica}
	st.down = w.newPipe(func(p *packet) { replica.copied(p) })
	st.up = w.newPipe(func(p *packet) { primary.acknowledged(p) })
	// After a loss on either pipe, the primary sends all data again.
	resume := func() { st.send(false) }
	st.down.resume, st.up.resume = resume, resume
	st.down.stream, st.up.stream = st, st
	w.streams = append(w.streams, st)
	primary.streams = append(primary.streams, st)
	st.send(false)
}

// leave makes a replica stop following its primary.
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

// send sends the replica the primary's present data. asked says whether the data was changed by a
// client or an eviction (see wrote).
func (st *stream) send(asked bool) {
	p := st.primary
	st.down.send(&packet{
		kind: copying, copy: &state{stream: st, data: p.node.Snapshot(p.wall())}, offset: p.written, matters: asked,
	}, &st.toReplica)
}

// wrote counts a change of the node's data, adds the change to the disk and sends the data to the
// replicas. asked is true if a client or an eviction caused the change, and false for an expiry.
func (s *server) wrote(asked bool) {
	s.written++
	if asked {
		s.asked++
	}
	s.disk.wrote(s, asked)
	for _, st := range s.streams {
		st.send(asked)
	}
	s.expireLater()
}

// expire deletes expired keys, and informs replicas and sessions. A replica only hides the keys.
func (s *server) expire() {
	before := s.node.Writes()
	pushes := s.node.Expire(s.wall())
	if s.node.Writes() != before && s.primary == nil {
		s.wrote(false)
	}
	for _, p := range pushes {
		s.push(p)
	}
	s.expireLater()
}

// activeExpiry is about the longest time for which a primary keeps an expired key that no command
// reads. Redis looks for such keys ten times a second.
const activeExpiry = 100 * time.Millisecond

// expireLater schedules the deletion of the next key to expire: 1 ms after the key's deadline, plus
// a time of less than activeExpiry, which is a hash of the seed, the node and the deadline.
func (s *server) expireLater() {
	next := s.node.NextExpiry()
	if next.IsZero() || s.primary != nil {
		return
	}
	due := next.Sub(epoch) - s.skew
	late := time.Duration(mix(s.sim.setup.Seed, uint64(s.index), uint64(due)) % uint64(activeExpiry))
	at := align(max(due, now())+time.Millisecond+late, 0)
	if s.expiring > now() && s.expiring <= at {
		return
	}
	s.expiring = at
	s.sim.schedule.add(&event{at: at, conn: s.index, do: func() {
		if s.expiring == at && !s.down && len(s.pauses) == 0 {
			s.expiring = 0
			s.expire()
		}
	}})
}

// copied handles a packet with the primary's data. A frozen replica puts the packet into its
// backlog.
func (s *server) copied(p *packet) {
	switch {
	case p.copy.stream.gone || s.down:
	case s.frozen():
		s.backlog = append(s.backlog, p)
	default:
		s.follow(p)
	}
}

// follow replaces the replica's data with the primary's.
func (s *server) follow(p *packet) {
	st := p.copy.stream
	if st.gone {
		return
	}
	s.node.Load(s.wall(), p.copy.data)
	s.node.CopyOwners(st.primary.node)
	s.disk.wrote(s, true)
	st.up.send(&packet{kind: copying, offset: p.offset}, &st.toPrimary)
}

// acknowledged handles a packet in which a replica acknowledges data. A frozen primary puts the
// packet into its backlog.
func (s *server) acknowledged(p *packet) {
	if s.frozen() && !s.down {
		s.backlog = append(s.backlog, p)
		return
	}
	s.heard(p)
}

// heard notes the offset that a replica acknowledged, and answers the WAITs that now have
// enough replicas.
func (s *server) heard(p *packet) {
	st := p.pipe.stream
	st.acked, st.heard = max(st.acked, p.offset), true
	for _, w := range slices.Clone(s.waits) {
		if s.replicas(w.offset) >= w.replicas {
			s.answer(w)
		}
	}
}

// replicas counts the replicas that are up and have acknowledged all writes up to offset.
func (s *server) replicas(offset uint64) int {
	n := 0
	for _, st := range s.streams {
		if st.heard && !st.replica.down && st.acked >= offset {
			n++
		}
	}
	return n
}

// waiting is a client's WAIT that the node has not answered yet.
type waiting struct {
	request  *packet
	replicas int
	offset   uint64
	over     bool // the WAIT ended while the node was frozen; overdue answers it
}

// wait runs WAIT: it answers when enough replicas have every write up to the connection's
// last command, or after WAIT's timeout (https://redis.io/commands/wait). Package node
// refuses invalid arguments.
func (s *server) wait(p *packet) {
	reply, pushes := s.run(p)
	for _, push := range pushes {
		s.push(push) // of changes that no command made
	}
	if reply[0] == '-' {
		s.reply(p, reply)
		return
	}
	replicas, _ := strconv.Atoi(p.args[1])
	patience, _ := strconv.Atoi(p.args[2])
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
		s.sim.schedule.add(&event{
			at:   align(now()+time.Duration(patience)*time.Millisecond, y.id),
			pipe: y.id, conn: p.conn.number, seq: p.seq,
			do: func() { s.answer(w) },
		})
	}
}

// maxWait is more milliseconds than any trial lasts.
const maxWait = 1 << 40

// answer answers a WAIT, and runs the requests that arrived on its connection meanwhile.
func (s *server) answer(w *waiting) {
	c := w.request.conn
	if c.waiting != w || s.down {
		return
	}
	if s.frozen() { // the WAIT is answered when the node resumes
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
