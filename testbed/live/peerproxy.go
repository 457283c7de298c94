package live

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
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
	// address is unique among the trial's running servers.
	Peer() string
	// Bus returns the address by which this program reaches the server's cluster bus, as "host:port".
	Bus() string
}

// peerProxies are the doors through which the servers of one trial reach each other. A
// connection's source address tells which peer made it (Peer).
type peerProxies struct {
	proxies *proxies
	ip      string // of the listeners

	mu    sync.Mutex
	peers map[string]string // names of servers by source address
	met   chan struct{}     // closed and replaced when peers grows
}

func newPeerProxies(p *proxies, place Place) *peerProxies {
	ip, _ := place.Listen()
	return &peerProxies{proxies: p, ip: ip, peers: map[string]string{}, met: make(chan struct{})}
}

// peerProxy is a door in front of one port of a server, for the trial's other servers. The
// server announces the door's address throughout the trial. Behind the door, each peer has
// its own proxy, so that two servers can be partitioned without affecting a third.
type peerProxy struct {
	*door
	peerProxies *peerProxies
	upstream    func() (addr string, err error)
	hear        hearing
	// pairs are the proxies, by peer. A proxy's upstream direction is from the peer to the server.
	pairs map[string]*proxy
}

// hearing is called with each command of a peer.
type hearing func(peer string, args []history.Bytes)

// open opens a peer proxy in front of the server with that name, for these peers; none is the server itself. It calls upstream for each
// connection; upstream returns the server's address for this program, or an error while the server
// is down. If hear is not nil, it gets each command of a peer before the server does. A peer proxy
// with hear carries only Redis's client protocol.
func (d *peerProxies) open(name string, peers []string, upstream func() (string, error), hear hearing) (*peerProxy, error) {
	one := &peerProxy{peerProxies: d, upstream: upstream, hear: hear, pairs: map[string]*proxy{}}
	for _, peer := range peers {
		if peer != name {
			one.pairs[peer] = d.proxies.open(peer, name)
		}
	}
	var err error
	one.door, err = d.proxies.door(name, d.ip, one.way)
	return one, err
}

// meet notes that connections from addr come from the server of that name.
func (d *peerProxies) meet(addr, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peers[addr] = name
	close(d.met)
	d.met = make(chan struct{})
}

// forget notes that the server of that name is killed: another server may get its address.
func (d *peerProxies) forget(name string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.peers, func(_, known string) bool { return known == name })
}

// errStranger is the error for a connection that no server of the trial made.
var errStranger = errors.New("no server of the trial has this address")

// way leads a peer's connection through the peer's proxy to where the server is now.
func (d *peerProxy) way(ctx context.Context, c net.Conn) (from net.Conn, p *proxy, upstream string, err error) {
	peer := d.who(ctx, c)
	if d.pairs[peer] == nil {
		return nil, nil, "", errStranger
	}
	if upstream, err = d.upstream(); err != nil {
		return nil, nil, "", err
	}
	if d.hear != nil {
		c = &heard{Conn: c, in: resp.NewReader(c), hear: func(args []history.Bytes) { d.hear(peer, args) }}
	}
	return c, d.pairs[peer], upstream, nil
}

// heard is a connection whose reader is told each command before it gets the command.
type heard struct {
	net.Conn
	in   *bufio.Reader
	hear func(args []history.Bytes)
	rest resp.Message // of the last message read
}

// Read implements net.Conn.
func (h *heard) Read(p []byte) (int, error) {
	if len(h.rest) == 0 {
		m, err := resp.Read(h.in)
		if err != nil {
			return 0, err
		}
		if args, err := m.Args(); err == nil {
			h.hear(args)
		}
		h.rest = m
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

// introduction bounds how long a connection waits until meet names an unknown peer: a server may connect
// before its start has returned.
const introduction = 10 * time.Second

// who returns the name of the server that made the connection; "" if no server of this trial has
// the connection's source address.
func (d *peerProxy) who(ctx context.Context, c net.Conn) string {
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
		case <-ctx.Done():
			return ""
		}
	}
}
