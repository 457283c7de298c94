package live

import (
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// Electing is a Provider whose servers can watch each other and elect primaries. Its
// servers are Peers.
type Electing interface {
	Provider
	// Elects says whether they can on this machine.
	Elects() bool
}

// Peer is a Server that other servers recognise by its source address.
type Peer interface {
	Server
	// Peer is the IPv4 source address of its connections to other servers, unique in the
	// trial.
	Peer() string
}

// doors are where the servers of one trial reach each other. A peer is recognised by its
// source address (Peer).
type doors struct {
	proxies *proxies
	host    string // Place.Doors

	mu    sync.Mutex
	peers map[string]string // names of servers by source address
	met   chan struct{}     // closed and replaced when peers grows
	all   []*door
}

func newDoors(p *proxies, host string) *doors {
	return &doors{proxies: p, host: host, peers: map[string]string{}, met: make(chan struct{})}
}

// door is a listener in front of one port of a server, for the other servers of the
// trial. The server announces the door's address as long as the trial lasts. Each peer
// gets a proxy of its own behind the door, so that two servers can be partitioned without
// affecting a third.
type door struct {
	doors    *doors
	name     string // of the server behind it
	upstream func() (addr string, err error)
	hear     hearing
	listener net.Listener
	closed   chan struct{}
	serving  sync.WaitGroup

	mu    sync.Mutex
	pairs map[string]*proxy     // by peer
	conns map[net.Conn]struct{} // that close has to end
}

// hearing is told what a peer says.
type hearing func(peer string, args []history.Bytes)

// open opens a door in front of the server of that name. Upstream is called for each
// connection: it returns the server's address for this program, or an error while the
// server is down. Hear, unless it is nil, gets each command of a peer before the server
// does; such a door is for Redis's own protocol only.
func (d *doors) open(name string, upstream func() (string, error), hear hearing) (*door, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort(d.host, "0"))
	if err != nil {
		return nil, fmt.Errorf("door of %s: %w", name, err)
	}
	one := &door{
		doors: d, name: name, upstream: upstream, hear: hear, listener: l, closed: make(chan struct{}),
		pairs: map[string]*proxy{}, conns: map[net.Conn]struct{}{},
	}
	d.mu.Lock()
	d.all = append(d.all, one)
	d.mu.Unlock()
	one.serving.Go(one.accept)
	return one, nil
}

// meet says which server comes from an address from now on.
func (d *doors) meet(addr, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peers[addr] = name
	close(d.met)
	d.met = make(chan struct{})
}

// shut stops accepting connections. After it, the proxies can be closed, and then the
// doors.
func (d *doors) shut() {
	for _, one := range d.every() {
		one.mu.Lock()
		close(one.closed)
		one.listener.Close()
		one.mu.Unlock()
	}
}

// close ends the connections through the doors.
func (d *doors) close() {
	for _, one := range d.every() {
		one.mu.Lock()
		for c := range one.conns {
			c.Close()
		}
		one.mu.Unlock()
		one.serving.Wait()
	}
}

// every is all doors; a nil *doors has none.
func (d *doors) every() []*door {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

// addr is the door's address as a server's configuration takes it.
func (d *door) addr() (host, port string) {
	host, port, _ = net.SplitHostPort(d.listener.Addr().String())
	return host, port
}

// announced is the address by which everybody knows the server.
func (d *door) announced() string { return d.listener.Addr().String() }

func (d *door) accept() {
	for {
		c, err := testbed.Accept(d.listener)
		if err != nil {
			return
		}
		if d.track(c) {
			d.serving.Go(func() { d.serve(c.(*net.TCPConn)) })
		}
	}
}

// track keeps a connection for close. After shut, it closes the connection instead.
func (d *door) track(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over() {
		c.Close()
		return false
	}
	d.conns[c] = struct{}{}
	return true
}

func (d *door) drop(c net.Conn) {
	d.mu.Lock()
	delete(d.conns, c)
	d.mu.Unlock()
	c.Close()
}

// serve carries a peer's connection until both sides have ended.
func (d *door) serve(far *net.TCPConn) {
	defer d.drop(far)
	peer := d.who(far)
	if peer == "" {
		return
	}
	at, err := d.from(peer)
	if err != nil {
		return // it is down: the peer will try again
	}
	c, err := net.Dial("tcp4", at)
	if err != nil || !d.track(c) {
		return
	}
	near := c.(*net.TCPConn)
	defer d.drop(near)
	var back sync.WaitGroup
	back.Go(func() {
		io.Copy(far, near)
		far.CloseWrite()
		io.Copy(io.Discard, near) // a proxy whose receiver does not read is stuck
	})
	d.requests(peer, far, near)
	near.CloseWrite()
	back.Wait()
}

// requests carries the peer's commands until the peer has ended.
func (d *door) requests(peer string, far, near *net.TCPConn) {
	if d.hear == nil {
		io.Copy(near, far)
		return
	}
	r := resp.NewReader(far)
	for {
		m, err := resp.Read(r)
		if err != nil {
			return
		}
		if args, err := m.Args(); err == nil {
			d.hear(peer, args)
		}
		if _, err := near.Write(m); err != nil {
			return
		}
	}
}

// introduction bounds how long an unknown peer waits to be identified: a server may
// connect before its start has returned.
const introduction = 10 * time.Second

// who tells which server a connection comes from; "" if it is none of this
// trial's.
func (d *door) who(c net.Conn) string {
	addr, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	patience := time.NewTimer(introduction)
	defer patience.Stop()
	for {
		d.doors.mu.Lock()
		name, met := d.doors.peers[addr], d.doors.met
		d.doors.mu.Unlock()
		if name != "" {
			return name
		}
		select {
		case <-met:
		case <-patience.C:
			return ""
		case <-d.closed:
			return ""
		}
	}
}

// from returns the listen address of the peer's proxy. The proxy then leads to the server's
// present address; the error may be upstream's.
func (d *door) from(peer string) (addr string, err error) {
	upstream, err := d.upstream()
	if err != nil {
		return "", err
	}
	p, err := d.pair(peer)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over() {
		return "", net.ErrClosed
	}
	if err := p.lead(upstream); err != nil {
		return "", err
	}
	return p.Listen, nil
}

// over says whether the door is shut. mu is held.
func (d *door) over() bool {
	select {
	case <-d.closed:
		return true
	default:
		return false
	}
}

// nowhere is where a proxy leads before its server has started.
const nowhere = "127.0.0.1:0"

// pair returns the proxy between that peer and this server; upstream is from the peer to
// the server. The proxy exists before either has started.
func (d *door) pair(peer string) (*proxy, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.pairs[peer]; p != nil {
		return p, nil
	}
	if d.over() {
		return nil, net.ErrClosed
	}
	p, err := d.doors.proxies.open(peer+"-"+d.name, loopback, nowhere)
	if err != nil {
		return nil, err
	}
	d.pairs[peer] = p
	return p, nil
}

// entry is a peer's way to the server behind a door.
type entry struct {
	peer string
	door *door
}

// disturbAll cuts or holds all entries, or none: it opens missing proxies before it shuts
// the first. The undos are in the order of the entries.
func disturbAll(entries []entry, d testbed.Direction, how func(*valve) (undo func())) ([]testbed.Undo, error) {
	var pairs []*proxy
	for _, one := range entries {
		p, err := one.door.pair(one.peer)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	var undos []testbed.Undo
	for _, p := range pairs {
		undos = append(undos, p.disturb(d, how))
	}
	return undos, nil
}
