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
	// Elects reports whether elections are possible on this machine.
	Elects() bool
}

// Peer is a Server that other servers recognise by its source address.
type Peer interface {
	Server
	// Peer returns the IPv4 source address of the server's connections to other servers. The
	// address is unique in the trial.
	Peer() string
}

// peerProxies are the proxied listeners through which the servers of one trial reach each other. A
// connection's source address tells which peer made it (Peer).
type peerProxies struct {
	proxies *proxies
	host    string // Place.ListenIP

	mu    sync.Mutex
	peers map[string]string // names of servers by source address
	met   chan struct{}     // closed and replaced when peers grows
	all   []*peerProxy
}

func newPeerProxies(p *proxies, host string) *peerProxies {
	return &peerProxies{proxies: p, host: host, peers: map[string]string{}, met: make(chan struct{})}
}

// peerProxy is a listener in front of one port of a server, for the trial's other servers. The
// server announces the listener's address throughout the trial. Behind the listener, each peer has
// its own proxy, so that two servers can be partitioned without affecting a third.
type peerProxy struct {
	peerProxies *peerProxies
	name        string // the name of the server behind the peer proxy
	upstream    func() (addr string, err error)
	hear        hearing
	listener    net.Listener
	closed      chan struct{}
	serving     sync.WaitGroup

	mu    sync.Mutex
	pairs map[string]*proxy     // by peer
	conns map[net.Conn]struct{} // connections that close must end
}

// hearing is called with each command of a peer.
type hearing func(peer string, args []history.Bytes)

// open opens a peer proxy in front of the server with that name. It calls upstream for each
// connection; upstream returns the server's address for this program, or an error while the server
// is down. If hear is not nil, it gets each command of a peer before the server does. A peer proxy
// with hear carries only Redis's client protocol.
func (d *peerProxies) open(name string, upstream func() (string, error), hear hearing) (*peerProxy, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort(d.host, "0"))
	if err != nil {
		return nil, fmt.Errorf("peer proxy of %s: %w", name, err)
	}
	one := &peerProxy{
		peerProxies: d, name: name, upstream: upstream, hear: hear, listener: l, closed: make(chan struct{}),
		pairs: map[string]*proxy{}, conns: map[net.Conn]struct{}{},
	}
	d.mu.Lock()
	d.all = append(d.all, one)
	d.mu.Unlock()
	one.serving.Go(one.accept)
	return one, nil
}

// meet notes that connections from addr come from the server of that name.
func (d *peerProxies) meet(addr, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peers[addr] = name
	close(d.met)
	d.met = make(chan struct{})
}

// shut stops accepting connections. Afterwards, the caller closes first the proxies, then the peer
// proxies.
func (d *peerProxies) shut() {
	for _, one := range d.every() {
		one.mu.Lock()
		close(one.closed)
		one.listener.Close()
		one.mu.Unlock()
	}
}

// close ends the connections through the peer proxies.
func (d *peerProxies) close() {
	for _, one := range d.every() {
		one.mu.Lock()
		for c := range one.conns {
			c.Close()
		}
		one.mu.Unlock()
		one.serving.Wait()
	}
}

// every returns all peer proxies; a nil *peerProxies has none.
func (d *peerProxies) every() []*peerProxy {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

// addr returns the host and port of the peer proxy, for a server's configuration.
func (d *peerProxy) addr() (host, port string) {
	host, port, _ = net.SplitHostPort(d.listener.Addr().String())
	return host, port
}

// announced returns the address that the server announces: that of the peer proxy.
func (d *peerProxy) announced() string { return d.listener.Addr().String() }

func (d *peerProxy) accept() {
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

// track stores a connection for close. After shut, it closes the connection and returns
// false.
func (d *peerProxy) track(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over() {
		c.Close()
		return false
	}
	d.conns[c] = struct{}{}
	return true
}

func (d *peerProxy) drop(c net.Conn) {
	d.mu.Lock()
	delete(d.conns, c)
	d.mu.Unlock()
	c.Close()
}

// serve forwards a peer's connection in both directions until both sides have ended.
func (d *peerProxy) serve(far *net.TCPConn) {
	defer d.drop(far)
	peer := d.who(far)
	if peer == "" {
		return
	}
	at, err := d.from(peer)
	if err != nil {
		return // the server is down: the peer will try again
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
		io.Copy(io.Discard, near) // otherwise the proxy would block in a write
	})
	d.requests(peer, far, near)
	near.CloseWrite()
	back.Wait()
}

// requests forwards the peer's commands until the peer closes its side.
func (d *peerProxy) requests(peer string, far, near *net.TCPConn) {
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

// introduction bounds how long serve waits until meet names an unknown peer: a server may connect
// before its start has returned.
const introduction = 10 * time.Second

// who returns the name of the server that made the connection; "" if no server of this trial has
// the connection's source address.
func (d *peerProxy) who(c net.Conn) string {
	addr, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	timeout := time.NewTimer(introduction)
	defer timeout.Stop()
	for {
		d.peerProxies.mu.Lock()
		name, met := d.peerProxies.peers[addr], d.peerProxies.met
		d.peerProxies.mu.Unlock()
		if name != "" {
			return name
		}
		select {
		case <-met:
		case <-timeout.C:
			return ""
		case <-d.closed:
			return ""
		}
	}
}

// from makes the peer's proxy lead to the server's present address and returns the proxy's listen
// address. If upstream fails, from returns upstream's error.
func (d *peerProxy) from(peer string) (addr string, err error) {
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

// over reports whether the peer proxy is shut. The caller holds mu.
func (d *peerProxy) over() bool {
	select {
	case <-d.closed:
		return true
	default:
		return false
	}
}

// nowhere is a proxy's upstream before its server has started.
const nowhere = "127.0.0.1:0"

// pair returns the proxy between that peer and this server, and opens it if necessary. The proxy's
// upstream direction is from the peer to the server. Neither server needs to run.
func (d *peerProxy) pair(peer string) (*proxy, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.pairs[peer]; p != nil {
		return p, nil
	}
	if d.over() {
		return nil, net.ErrClosed
	}
	p, err := d.peerProxies.proxies.open(peer+"-"+d.name, loopback, nowhere)
	if err != nil {
		return nil, err
	}
	d.pairs[peer] = p
	return p, nil
}

// peerLink is the link from one peer to the server behind a peer proxy.
type peerLink struct {
	peer      string
	peerProxy *peerProxy
}

// disturbAll cuts or holds all links. It opens missing proxies first, since only that can fail:
// after an error, no link is disturbed. The undos are in the order of the links.
func disturbAll(links []peerLink, d testbed.Direction, how func(*linkToxic) (undo func())) ([]testbed.Undo, error) {
	var pairs []*proxy
	for _, one := range links {
		p, err := one.peerProxy.pair(one.peer)
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
