package testbed

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/history"
)

// record is a command that was sent. Gate.mu guards it.
type record struct {
	history.Command
	number     int  // on its connection, from 1, handshakes included
	leaving    bool // Sent points are not through yet
	clientDone bool // replied, or the client's end of the connection has ended
	served     bool
}

// log begins the record of a command that is about to be sent. mu is held.
func (c *Conn) log(cmd history.Command) *record {
	g := c.gate
	cmd.Index, cmd.Sent = g.index, g.clock()
	g.index++
	r := &record{Command: cmd, number: c.replies.Sent(cmd.Args), leaving: true}
	c.records[r.number] = r
	g.open[r.Index] = r
	return r
}

// settle passes the record on if nothing more will be learnt. mu is held.
func (c *Conn) settle(r *record) {
	if !r.clientDone || c.observed && !r.served && !c.nodeDone {
		return
	}
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
	some := len(g.ended) > 0 && !g.flushed
	g.mu.Unlock()
	if some {
		g.passOn()
	}
}

// passOn passes on the commands that have ended, in the order in which they
// did, whoever calls it first.
func (g *Gate) passOn() {
	g.passing.Lock()
	defer g.passing.Unlock()
	g.mu.Lock()
	ended := g.ended
	g.ended = nil
	g.mu.Unlock()
	for _, r := range ended {
		g.commands(r.Command)
	}
}

// Outstanding returns the commands that were sent and of which more may still
// be learnt, in the order of their index.
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

// Next is the index that the next command will have.
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
