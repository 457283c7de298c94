package gate

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// record is a command that was sent. Gate.mu guards it.
type record struct {
	history.Command
	number     int    // the command's place on its connection, from 1, handshakes included
	sentTo     string // the node to which the command was sent; another node may have served it
	leaving    bool   // the command is being sent, or the functions of its Sent points run
	clientDone bool   // replied, or the sending failed, or the client's end of the connection has ended
	served     bool
	ended      bool // the outcome is final: Arrived, Served, Replied and Reply do not change any more
}

// records are commands in the order of their numbers.
type records struct{ resp.Queue[*record] }

// find returns the place of the command with this number.
func (l *records) find(number int) (at int, ok bool) {
	all := l.Live()
	if len(all) > 0 && all[0].number == number {
		return 0, true
	}
	return slices.BinarySearchFunc(all, number, func(r *record, n int) int { return cmp.Compare(r.number, n) })
}

// slab is how many records are allocated at once.
const slab = 64

// log returns a new record for a command that is about to be sent. mu is held.
func (c *Conn) log(cmd history.Command) *record {
	g := c.gate
	if len(g.unused) == 0 {
		g.unused = make([]record, slab)
	}
	r := &g.unused[0]
	g.unused = g.unused[1:]
	cmd.Sent = g.clock()
	r.Command, r.number, r.sentTo, r.leaving = cmd, c.replies.Sent(cmd.Args), c.node, true
	c.records.Push(r)
	g.fresh = append(g.fresh, r)
	if !g.ordered {
		g.number()
	}
	return r
}

// record returns the connection's command with this number; nil if the command's outcome is
// final. mu is held.
func (c *Conn) record(number int) *record {
	if i, ok := c.records.find(number); ok {
		return c.records.Live()[i]
	}
	return nil
}

// number gives an index to each command that has none (fresh). The order of the indices does
// not depend on which goroutine came first at one instant. mu is held.
func (g *Gate) number() {
	if len(g.fresh) > 1 {
		slices.SortFunc(g.fresh, func(a, b *record) int {
			return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Client, b.Client),
				cmp.Compare(a.sentTo, b.sentTo), cmp.Compare(a.Conn, b.Conn), cmp.Compare(a.number, b.number))
		})
		countAnew(g.fresh)
	}
	for _, r := range g.fresh {
		r.Index = g.index
		g.index++
		if !r.ended {
			g.open.Push(r)
		}
	}
	clear(g.fresh)
	g.fresh = g.fresh[:0]
}

// countAnew corrects N, a command's number in its step, where one client sent several commands
// to one node at one instant: it exchanges their Ns so that N grows in the order of sorted.
func countAnew(sorted []*record) {
	for i, a := range sorted {
		for _, b := range sorted[i+1:] {
			if a.Sent != b.Sent || a.Client != b.Client || a.sentTo != b.sentTo {
				break
			}
			if b.N > 0 && b.N < a.N && a.Phase == b.Phase {
				a.N, b.N = b.N, a.N
			}
		}
	}
}

// Number gives indices to the commands that were sent since its last call, and passes on the
// commands that have ended. Indices and N follow the order of time, client, node, connection
// and the command's number on the connection. Number is for an Ordered gate. Call it when
// every sender of this instant has sent: in a bubble, when all goroutines but the caller's
// are blocked.
func (g *Gate) Number() {
	g.mu.Lock()
	g.number()
	some := len(g.ended) > 0
	g.mu.Unlock()
	if some && g.ordered {
		g.passOn()
	}
}

// finalize makes the command's outcome final if the client's side is done with the command and,
// on an observed connection, the node's side is done, too. mu is held.
func (c *Conn) finalize(r *record) {
	if r.ended || !r.clientDone || c.observed && !r.served && !c.nodeDone {
		return
	}
	r.ended = true
	if at, ok := c.records.find(r.number); ok {
		c.records.Remove(at)
	}
	if at, ok := slices.BinarySearchFunc(c.gate.open.Live(), r, byIndex); ok {
		c.gate.open.Remove(at)
	}
	c.gate.ended = append(c.gate.ended, r)
}

// finalizeAll calls finalize for each of the connection's commands. mu is held.
func (c *Conn) finalizeAll() {
	for _, r := range slices.Clone(c.records.Live()) {
		c.finalize(r)
	}
}

// clientEnded notes that nothing more will reach the client over this connection. mu is
// held.
func (c *Conn) clientEnded() {
	for _, r := range c.records.Live() {
		r.clientDone = true
	}
	c.finalizeAll()
}

// unlock releases mu and passes on the commands that have ended, unless the gate is
// Ordered.
func (g *Gate) unlock() {
	some := len(g.ended) > 0 && !g.flushed && !g.ordered
	g.mu.Unlock()
	if some {
		g.passOn()
	}
}

// passOn passes on the commands that have ended: in the order in which they ended or, if the
// gate is Ordered, in the order of their indices. Concurrent calls take turns.
func (g *Gate) passOn() {
	g.passing.Lock()
	defer g.passing.Unlock()
	g.mu.Lock()
	ended := g.ended
	g.ended = g.passed[:0]
	if g.ordered {
		g.number()
		slices.SortFunc(ended, byIndex)
	}
	g.mu.Unlock()
	for _, r := range ended {
		g.commands(r.Command)
	}
	clear(ended)
	g.passed = ended
}

func byIndex(a, b *record) int { return cmp.Compare(a.Index, b.Index) }

// Flush ends all commands whose outcome is still open, passes on the commands that have not
// been passed on, in the order of their indices, and returns when all have been passed on.
// Nothing is passed on later. Call Flush after Close, when the nodes' side has ended.
func (g *Gate) Flush() {
	g.mu.Lock()
	g.number()
	for _, r := range g.open.Live() {
		r.ended = true
		g.ended = append(g.ended, r)
	}
	g.open = resp.Queue[*record]{}
	slices.SortFunc(g.ended, byIndex)
	g.mu.Unlock()
	g.passOn()
	g.mu.Lock()
	g.flushed = true
	g.mu.Unlock()
}

// Outstanding returns the commands that were sent and whose outcome is still open, in the
// order of their indices. It leaves out commands without an index; their indices will be
// equal to the result of Next or greater.
func (g *Gate) Outstanding() []history.Command {
	g.mu.Lock()
	defer g.mu.Unlock()
	var open []history.Command
	for _, r := range g.open.Live() {
		open = append(open, r.Command)
	}
	return open
}

// Next returns the index of the next command.
func (g *Gate) Next() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.index
}

// Observe announces that the node's side will call Arrived and Served for this connection's
// commands, and NodeEnded at the end. Without Observe, a command's outcome is final when the
// client's side is done. Observe must be called before the first command is sent.
func (c *Conn) Observe() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.observed = true
}

// Arrived notes that the node's side has handed a command to the node now. Number is the
// command's place among the connection's commands, from 1, handshakes included. Exec is the
// command's place in the node's order of execution; 0 = unknown.
func (c *Conn) Arrived(number int, node string, exec int) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if r := c.record(number); r != nil {
		r.Arrived, r.Node, r.Exec = c.gate.clock(), node, exec
	}
}

// Served notes that the node has answered the command now, with this reply. Number is as for
// Arrived. Served must be called before the reply can reach the client.
func (c *Conn) Served(number int, reply resp.Message) {
	c.gate.mu.Lock()
	defer c.gate.unlock()
	if r := c.record(number); r != nil {
		r.Served, r.Reply, r.served = c.gate.clock(), reply.Compact(), true
		c.finalize(r)
	}
}

// NodeEnded notes that the node's side will not call Arrived or Served for this connection
// any more.
func (c *Conn) NodeEnded() {
	c.gate.mu.Lock()
	defer c.gate.unlock()
	c.nodeDone = true
	c.finalizeAll()
}
