package live

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/gate"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// pair is the tap's end of one client connection: far leads to the proxy, server to Redis.
// The tap reads commands and replies, and gives each node one command at a time, so that
// the order of execution is known. The tap forwards a complete command even if the client
// has gone.
type pair struct {
	gate   *gate.Conn
	client int
	near   *nearEnd
	far    *net.TCPConn
	node   *node

	broken chan struct{} // closed when the node's side has ended

	mu      sync.Mutex
	server  net.Conn // nil before attach
	ended   bool     // cut was called
	replies resp.Replies
	expect  int           // number of the command that the node is executing; 0 = none
	got     chan struct{} // closed when command number expect is answered
	served  time.Duration // when the command was answered, on the history's clock
	reply   resp.Message

	blocked map[int]*effect // effects of unanswered blocking commands, by command number

	queuing bool     // after MULTI, before EXEC, DISCARD or RESET; guarded by the node's turn
	queued  []string // keys that the queued commands may create
}

// serve forwards commands and replies until both sides have ended.
func (p *pair) serve() {
	defer p.far.Close()
	server, err := p.node.dial(context.Background())
	if err != nil || !p.attach(server) {
		p.sever()
		p.requests(nil)
		return
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		p.answers(server)
		p.sever()
	})
	p.requests(server)
	server.Close()
	reading.Wait()
	p.abandon()
}

// attach stores the connection to the node. If cut was called already, attach closes the connection
// and returns false.
func (p *pair) attach(server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		server.Close()
		return false
	}
	p.server = server
	p.node.monitor.meet(server.LocalAddr(), p.client)
	return true
}

// cut closes the connection to the node. If there is none yet, attach will close the connection at
// once.
func (p *pair) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.server != nil {
		p.server.Close()
	}
}

// sever tells the gate and the proxy that the node's side has ended. It must be called
// once.
func (p *pair) sever() {
	close(p.broken)
	p.gate.NodeEnded()
	p.far.CloseWrite()
}

// requests hands commands to the node until the proxy closes its side. After the node's side has
// ended, requests discards the proxy's data, so that the proxy does not block in a write.
func (p *pair) requests(server net.Conn) {
	r := resp.NewReader(p.far)
	for server != nil {
		m, err := resp.Read(r)
		if err != nil {
			return
		}
		args, err := m.Args()
		if err != nil || !p.execute(server, m, args) {
			server.Close()
			break
		}
	}
	<-p.broken
	io.Copy(io.Discard, r)
}

// execute hands one command to the node and waits for the answer, unless the command may block. It
// returns false if the node's side has ended.
func (p *pair) execute(server net.Conn, m resp.Message, args []history.Bytes) bool {
	if !p.node.take(p.broken) {
		return false
	}
	defer p.node.release()
	if _, err := p.node.running(); err != nil {
		return false // the node was killed, but the connection is still open
	}
	if p.node.admit != nil {
		p.node.admit(p.client, args)
	}
	p.node.named.add(args)
	p.node.observer.before(args)
	blocks := resp.Of(args).Is(resp.Blocks | resp.Subscribes)
	got := make(chan struct{})
	p.mu.Lock()
	number := p.replies.Sent(args)
	p.expect, p.got = number, got
	p.node.executed++
	f := p.node.observer.executes(args, blocks)
	if blocks && f != nil {
		p.blocked[number] = f
	}
	p.mu.Unlock()
	p.gate.Arrived(number, p.node.name, p.node.executed)
	if _, err := server.Write(m); err != nil {
		p.node.observer.lost(f)
		return false
	}
	if blocks {
		return true
	}
	select {
	case <-got:
		p.ran(f, args)
		return true
	case <-p.broken:
		select {
		case <-got: // the answer came before the node's side ended
			p.ran(f, args)
			return true
		default:
		}
		p.node.observer.lost(f)
		return false
	}
}

// ran tells the observer about an answered command. A queued command has no effect before EXEC.
func (p *pair) ran(f *effect, args []history.Bytes) {
	p.mu.Lock()
	reply, served := p.reply, p.served
	p.mu.Unlock()
	o := p.node.observer
	name, ok := resp.Name(args), string(reply) == "+OK\r\n"
	switch {
	case p.queuing && string(reply) == "+QUEUED\r\n":
		p.queued = append(p.queued, likely(args)...)
		o.unchanged(f)
	case name == "MULTI":
		p.queuing = p.queuing || ok
	case name == "SELECT" && ok && len(args) == 2 && args[1] != "0":
		o.giveUp(fmt.Errorf("c%d uses its database %s: only database 0 is looked at", p.client, args[1]))
	case name == "EXEC" || name == "DISCARD" || name == "RESET":
		o.executed(f, served, p.queued...)
		p.queuing, p.queued = false, nil
	default:
		o.executed(f, served, likely(args)...)
	}
}

// abandon notes that no more answers to blocking commands will come.
func (p *pair) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.blocked {
		p.node.observer.late(f)
	}
	clear(p.blocked)
}

// answers forwards the node's messages to the proxy until the node's side ends.
func (p *pair) answers(server net.Conn) {
	r := resp.NewReader(server)
	for {
		m, err := resp.Read(r)
		if err != nil {
			return
		}
		served := p.node.clock()
		p.mu.Lock()
		number := p.replies.Received(m)
		if f := p.blocked[number]; f != nil {
			p.node.observer.late(f)
			delete(p.blocked, number)
		}
		p.mu.Unlock()
		if bytes.HasPrefix(m, []byte("-MISCONF ")) {
			p.node.died(fmt.Errorf("node %s cannot store its data: %s", p.node.name, m.Compact()))
		}
		if number > 0 {
			p.gate.Served(number, m)
			p.node.aof.answered(p.node.clock())
			p.node.writes.Load().answered()
		}
		// Note the answer before the client gets it: a client that has its answer may hang up, and
		// the answered command would count as unanswered.
		p.mu.Lock()
		if number > 0 && number == p.expect {
			p.reply, p.served = m, served
			close(p.got)
			p.expect = 0
		}
		p.mu.Unlock()
		p.far.Write(m) // an error means that the proxy has gone, and the reply is lost
	}
}
