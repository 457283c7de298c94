package foreign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// startReal starts a child in real time. It ends with the client's context.
func startReal(c *locks.Client, argv []string) (*process, error) {
	p := newProcess(argv)
	return p, p.startReal(c)
}

// startReal starts the child with additions to its environment.
func (p *process) startReal(c *locks.Client, extra ...string) error {
	var passed func(passage)
	if p.own != nil {
		passed = func(now passage) { p.send(request{ownRequest: ownRequest{Passed: &now}}) }
	}
	addrs, err := listen(c, passed)
	if err != nil {
		return err
	}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start a client: %w", err)
	}
	p.in = in
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start a client: %w", err)
	}
	if err := p.launch(c, addrs, extra...); err != nil {
		return err
	}
	context.AfterFunc(c.Context, p.kill)
	go p.read(out)
	_, err = p.await()
	return err
}

// read takes the child's lines until the output ends or the child breaks the protocol.
func (p *process) read(out io.Reader) {
	defer close(p.ended)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, lineLimit)
	for lines.Scan() {
		if p.take(lines.Bytes()) != nil {
			return
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		p.mu.Lock()
		p.broken = fmt.Errorf("the client wrote a line of more than %d bytes", lineLimit)
		p.mu.Unlock()
	}
}

func accept(c *locks.Client, l net.Listener, addr string, passed func(passage)) {
	for {
		near, err := testbed.Accept(l)
		if err != nil {
			return
		}
		go forward(c, near.(*net.TCPConn), addr, passed)
	}
}

// forward connects an accepted connection to the node. Each side's end ends the other side, and an
// error resets it. A child of this program is told what has passed to the node.
func forward(c *locks.Client, near *net.TCPConn, addr string, passed func(passage)) {
	defer near.Close()
	told := io.Discard
	if passed != nil {
		w := &passing{tell: passed, now: passage{Of: connection(near.RemoteAddr(), near.LocalAddr())}}
		defer w.end()
		told = w
	}
	far, err := c.Dial(c.Context, "tcp", addr)
	if err != nil {
		_ = near.SetLinger(0)
		return
	}
	defer far.Close()
	defer context.AfterFunc(c.Context, func() { near.Close(); far.Close() })()
	go func() {
		if _, err := io.Copy(near, far); err != nil {
			_ = near.SetLinger(0)
		}
		near.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(far, told), near)
}
