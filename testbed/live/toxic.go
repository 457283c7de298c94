package live

import (
	"bufio"
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// linkToxicType is the name of linkToxic in toxiproxy's registry.
const linkToxicType = "lockstorm_link"

func init() { toxics.Register(linkToxicType, new(linkToxic)) }

// verdict is what happens to a packet on a link.
type verdict int

// Verdicts. Of several rules in force, the one with the highest verdict decides about new packets.
const (
	pass  verdict = iota
	hold          // keep the packet back as long as a rule holds
	drop          // lose it; when no rule drops any more, the connection is closed
	reset         // reset its connection, at the client's end (nearEnd.Write)
)

// rule decides about the packets of a connection, given by its number on the link, from 1.
type rule func(conn int) verdict

// always is the rule with one verdict for all packets.
func always(v verdict) rule { return func(int) verdict { return v } }

// linkToxic is our own toxic, the only one: each direction of each proxy has one from the beginning. It
// obeys the rules in force.
//
// Toxiproxy's own toxics timeout, latency and reset_peer would have to be added and removed during a
// trial, and have faults:
//   - timeout lets the end of a connection through. Its removal closes every connection, even
//     one that lost nothing.
//   - latency forgets the data that it holds when another toxic is added.
//   - If the first of two toxics on a direction closes a connection, the second is never removed
//     from that connection.
//   - If a receiver breaks off, the connection's goroutines are stuck for ever, because no toxic
//     takes their data. A linkToxic always takes the data.
type linkToxic struct {
	mu      sync.Mutex
	rules   []*rule
	conns   int           // number of connections so far
	heals   int           // number of calls of heal
	changed chan struct{} // closed and replaced when rules or heals changes
	caught  bytes.Buffer  // data that was dropped or held, up to catchLimit
}

// mode says what a toxic does to one connection at one moment.
type mode struct {
	cut, hold, reset bool // some rule drops, holds, resets
	heals            int
	changed          <-chan struct{}
}

// catchLimit bounds the bytes that a toxic keeps for counting messages.
const catchLimit = 1 << 20

// mode returns the toxic's state for a connection. data has just been received; nil = none. If the
// toxic does not let it pass, mode keeps a copy of data for counting.
func (v *linkToxic) mode(conn int, data []byte) mode {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changed == nil {
		v.changed = make(chan struct{})
	}
	m := mode{heals: v.heals, changed: v.changed}
	for _, r := range v.rules {
		switch (*r)(conn) {
		case hold:
			m.hold = true
		case drop:
			m.cut = true
		case reset:
			m.reset = true
		}
	}
	if (m.cut || m.hold) && v.caught.Len() < catchLimit {
		v.caught.Write(data)
	}
	return m
}

func (v *linkToxic) change(by func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	by()
	if v.changed != nil {
		close(v.changed)
	}
	v.changed = make(chan struct{})
}

// impose applies the rule until undo or heal is called.
func (v *linkToxic) impose(r rule) (undo func()) {
	v.change(func() { v.rules = append(v.rules, &r) })
	return func() {
		v.change(func() { v.rules = slices.DeleteFunc(v.rules, func(other *rule) bool { return other == &r }) })
	}
}

// heal ends all rules, and drops held data.
func (v *linkToxic) heal() {
	v.change(func() { v.rules, v.heals = nil, v.heals+1 })
}

// messages returns the number of messages in caught, except the idle traffic between a primary and
// its replicas.
func (v *linkToxic) messages() int {
	v.mu.Lock()
	r := bufio.NewReader(bytes.NewReader(bytes.Clone(v.caught.Bytes())))
	v.mu.Unlock()
	n := 0
	for {
		m, err := resp.Read(r)
		if err != nil {
			return n
		}
		args, err := m.Args()
		if err != nil {
			continue
		}
		switch resp.Name(args) {
		case "PING", "REPLCONF", "SELECT":
		case "PUBLISH":
			if len(args) < 2 || args[1] != hello {
				n++
			}
		default:
			n++
		}
	}
}

// hello is the channel on which Sentinels announce themselves every two seconds. The
// primary replicates these messages.
const hello = "__sentinel__:hello"

// flow is a toxic's state on one connection.
type flow struct {
	conn  int // the connection's number on the link, from 1, in the order of dialling
	heals int
	queue []*stream.StreamChunk // received but not sent yet
	lost  bool                  // data was dropped
	ended bool                  // the sender has closed
}

// NewState implements toxics.StatefulToxic. Toxiproxy calls it when a connection is made.
func (v *linkToxic) NewState() any {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conns++
	return &flow{conn: v.conns, heals: v.heals}
}

// closingTimeout bounds how long queued data waits for the receiver after the sender has closed: the
// receiver may have gone, too. At the end of a trial, it also bounds each look at a node's keys, and
// the reading of MONITOR's last output.
const closingTimeout = time.Second

// Pipe implements toxics.Toxic. It returns when the connection has ended or on an interrupt. After
// an interrupt, toxiproxy calls Pipe again with the same state.
func (v *linkToxic) Pipe(stub *toxics.ToxicStub) {
	f := stub.State.(*flow)
	input := stub.Input
	var giveUp <-chan time.Time
	for {
		m := v.mode(f.conn, nil)
		f.obey(m)
		output, head := f.next(stub, m)
		if f.over(m) {
			stub.Close()
			for !f.ended { // take the sender's data, so that the sender does not block
				f.ended = <-stub.Input == nil
			}
			return
		}
		if f.ended {
			input = nil
			if output != nil && giveUp == nil {
				t := time.NewTimer(closingTimeout)
				defer t.Stop()
				giveUp = t.C
			}
		}
		select {
		case <-stub.Interrupt:
			return
		case <-m.changed:
		case <-giveUp:
			f.queue, f.lost = nil, true
		case output <- head:
			f.queue = f.queue[1:]
		case chunk := <-input:
			f.take(v, chunk)
		}
	}
}

// obey drops the queue if the toxic was healed since the last call, or if it is cut and not held.
func (f *flow) obey(m mode) {
	if len(f.queue) > 0 && (m.heals != f.heals || m.cut && !m.hold) {
		f.queue, f.lost = nil, true
	}
	f.heals = m.heals
}

// next returns the channel to send on and the chunk to send next; nil, nil if nothing may be sent
// now.
func (f *flow) next(stub *toxics.ToxicStub, m mode) (chan<- *stream.StreamChunk, *stream.StreamChunk) {
	if m.cut || m.hold || len(f.queue) == 0 {
		return nil, nil
	}
	return stub.Output, f.queue[0]
}

// over reports whether to close the connection. A shut toxic keeps the connection open, so that the
// other side does not learn of the end.
func (f *flow) over(m mode) bool {
	return !m.cut && !m.hold && (f.lost || f.ended && len(f.queue) == 0)
}

// take queues or drops one chunk; a nil chunk means that the sender has closed.
func (f *flow) take(v *linkToxic, chunk *stream.StreamChunk) {
	if chunk == nil {
		f.ended = true
		return
	}
	if v.mode(f.conn, chunk.Data).cut {
		f.lost = true
	} else {
		f.queue = append(f.queue, chunk)
	}
}
