package testbed

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/history"
)

// record is a command that was sent. Gate.mu guards it.
type record struct {
	history.Command
	number     int    // on its connection, from 1, handshakes included
	sentTo     string // the node that it was sent to, whichever served it
	leaving    bool   // Sent points are not through yet
	clientDone bool   // replied, or the client's end of the connection has ended
	served     bool
	ended      bool // nothing more will be learnt
}

// log begins the record of a command that is about to be sent. mu is held.
func (c *Conn) log(cmd history.Command) *record {
	g := c.gate
	cmd.Sent = g.clock()
	r := &record{Command: cmd, number: c.replies.Sent(cmd.Args), sentTo: c.node, leaving: true}
	c.records[r.number] = r
	g.fresh = append(g.fresh, r)
	if !g.ordered {
		g.number()
	}
	return r
}

// number gives the fresh commands their indices, in an order that does not
// depend on who came first at one instant. mu is held.
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
			g.open[r.Index] = r
		}
	}
	clear(g.fresh)
	g.fresh = g.fresh[:0]
}

// countAnew lets the numbers in the step of sorted commands that a client sent to
// one node at one instant follow their order, too.
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

// Number gives an index to the commands that were sent since its last call, in
// the order of the time, the client, the node, the connection and the command's
// number on it, N in the same order, and passes on those that have ended. It is for a gate that is
// Ordered, and to be called when all that could send at this instant has: in a
// bubble, when everything but the caller is blocked.
func (g *Gate) Number() {
	g.mu.Lock()
	g.number()
	some := len(g.ended) > 0
	g.mu.Unlock()
	if some && g.ordered {
		g.passOn()
	}
}

// settle passes the record on if nothing more will be learnt. mu is held.
func (c *Conn) settle(r *record) {
	if !r.clientDone || c.observed && !r.served && !c.nodeDone {
		return
	}
	r.ended = true
	delete(c.records, r.number)
	delete(c.gate.open, r.Index)
	c.gate.ended = append(c.gate.ended, r)
}

// clientEnded says that nothing more will reach the client over this
// connection. mu is held.
func (c *Conn) clientEnded() {
	for _, n := range c.numbers() {
		c.records[n].clientDone = true
		c.settle(c.records[n])
	}
}

// numbers of the connection's records, in order.
func (c *Conn) numbers() []int {
	numbers := make([]int, 0, len(c.records))
	for n := range c.records {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// unlock releases mu and passes on the commands that have ended.
func (g *Gate) unlock() {
	some := len(g.ended) > 0 && !g.flushed && !g.ordered
	g.mu.Unlock()
	if some {
		g.passOn()
	}
}

// passOn passes on the commands that have ended, in the order in which they
// did, whoever calls it first, or in the order of their index.
func (g *Gate) passOn() {
	g.passing.Lock()
	defer g.passing.Unlock()
	g.mu.Lock()
	ended := g.ended
	g.ended = nil
	if g.ordered {
		g.number()
		slices.SortFunc(ended, func(a, b *record) int { return cmp.Compare(a.Index, b.Index) })
	}
	g.mu.Unlock()
	for _, r := range ended {
		g.commands(r.Command)
	}
}

// Outstanding returns the commands that were sent and of which more may still
// be learnt, in the order of their index. Those that have none yet are left out:
// theirs will be Next or more.
func (g *Gate) Outstanding() []history.Command {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := make([]history.Command, 0, len(g.open))
	for _, r := range g.open {
		open = append(open, r.Command)
	}
	slices.SortFunc(open, func(a, b history.Command) int { return cmp.Compare(a.Index, b.Index) })
	return open
}

// Next is the index that the next command to get one will have.
func (g *Gate) Next() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.index
}

// Observe announces that somebody at the node's side will stamp this
// connection's commands and call NodeEnded. Without it a command ends at the
// client's side alone. It must be called before the first command is sent.
func (c *Conn) Observe() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.observed = true
}

// Arrived stamps the connection's command of that number, from 1 and with
// handshakes counted, as handed to the node now. Exec is its place in the node's
// order of execution, 0 if that is not known.
func (c *Conn) Arrived(number int, node string, exec int) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if r := c.records[number]; r != nil {
		r.Arrived, r.Node, r.Exec = c.gate.clock(), node, exec
	}
}

// Served stamps the command as answered by the node now. It must be called
// before the reply can reach the client.
func (c *Conn) Served(number int, reply Message) {
	c.gate.mu.Lock()
	defer c.gate.unlock()
	if r := c.records[number]; r != nil {
		r.Served, r.Reply, r.served = c.gate.clock(), reply.Compact(), true
		c.settle(r)
	}
}

// NodeEnded says that no more stamps will come.
func (c *Conn) NodeEnded() {
	c.gate.mu.Lock()
	defer c.gate.unlock()
	c.nodeDone = true
	for _, n := range c.numbers() {
		c.settle(c.records[n])
	}
}
