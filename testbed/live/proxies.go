package live

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/rs/zerolog"

	"github.com/lockstorm/lockstorm/testbed"
)

// proxies are all toxiproxy proxies of one trial, one per link. They do not listen: toxiproxy's listener
// stops for ever after an error, and says so only in its log. Doors listen instead.
type proxies struct {
	server *toxiproxy.ApiServer

	mu    sync.Mutex
	all   []*proxy
	doors []*door
}

func newProxies() *proxies {
	return &proxies{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())}
}

// proxy is the toxiproxy proxy of one link: a linkToxic on each direction of all its connections.
type proxy struct {
	ends   testbed.Link
	server *toxiproxy.ApiServer
	chain  *toxiproxy.ToxicCollection
	toxics map[testbed.Direction]*linkToxic

	mu     sync.Mutex
	joined int               // connections so far
	open   map[net.Conn]bool // ends of connections that have not ended
	closed bool
}

// String returns the link's name.
func (p *proxy) String() string { return p.ends.From + "-" + p.ends.To }

// open makes a proxy of the link from one end to the other. A link may have several.
func (p *proxies) open(from, to string) *proxy {
	one := &proxy{
		ends: testbed.Link{From: from, To: to}, server: p.server, chain: toxiproxy.NewProxy(p.server, from+"-"+to, "", "").Toxics,
		toxics: map[testbed.Direction]*linkToxic{}, open: map[net.Conn]bool{},
	}
	for _, d := range directions(testbed.Both) {
		w, err := one.chain.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"type":%q,"stream":%q}`, linkToxicType, d)))
		if err != nil {
			panic(err) // the type is registered, and the proxy has no other toxic
		}
		one.toxics[d] = w.Toxic.(*linkToxic)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, one)
	return one
}

// join forwards data between two connections, through the toxics, until one of them ends. It closes
// both then. It returns the number of this pair of connections among the proxy's, from 1; the toxics
// count alike.
func (p *proxy) join(from, to net.Conn) (number int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		from.Close()
		to.Close()
		return 0, net.ErrClosed
	}
	p.joined++
	p.open[from], p.open[to] = true, true
	name := strconv.Itoa(p.joined)
	p.chain.StartLink(p.server, name+"upstream", from, end{to, p}, stream.Upstream)
	p.chain.StartLink(p.server, name+"downstream", to, end{from, p}, stream.Downstream)
	return p.joined, nil
}

// end is one end of a proxy's connection.
type end struct {
	net.Conn
	proxy *proxy
}

// Close implements net.Conn.
func (e end) Close() error {
	e.proxy.mu.Lock()
	delete(e.proxy.open, e.Conn)
	e.proxy.mu.Unlock()
	return e.Conn.Close()
}

// idle reports whether the proxy has closed all its connections.
func (p *proxy) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open) == 0
}

// close ends the proxy's connections, and refuses new ones.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
}

// impose applies the rule in direction d, or in both, until undone.
func (p *proxy) impose(d testbed.Direction, r rule) (undo func()) {
	var undos []func()
	for _, one := range directions(d) {
		undos = append(undos, p.toxics[one].impose(r))
	}
	return func() {
		for _, undo := range undos {
			undo()
		}
	}
}

// heal ends all rules of the proxy. Messages that they held are dropped.
func (p *proxy) heal() {
	for _, d := range directions(testbed.Both) {
		p.toxics[d].heal()
	}
}

// caught returns how many messages in direction d, or in both, were ever dropped or held
// (linkToxic.messages).
func (p *proxy) caught(d testbed.Direction) int {
	n := 0
	for _, one := range directions(d) {
		n += p.toxics[one].messages()
	}
	return n
}

// between returns the proxies of a link, in the order in which they were opened; none if there is no such link,
// or no longer.
func (p *proxies) between(l testbed.Link) (found []*proxy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		one.mu.Lock()
		if one.ends.From == l.From && one.ends.To == l.To && !one.closed {
			found = append(found, one)
		}
		one.mu.Unlock()
	}
	return found
}

// heal ends all rules of all proxies. Messages that they held are dropped.
func (p *proxies) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		one.heal()
	}
}

// close closes all doors, and then all connections.
func (p *proxies) close() {
	p.mu.Lock()
	doors, all := slices.Clone(p.doors), slices.Clone(p.all)
	p.mu.Unlock()
	for _, d := range doors {
		d.close()
	}
	for _, one := range all {
		one.close()
	}
}

// door is a listener. A way leads each connection through a proxy to a server.
type door struct {
	listener net.Listener
	ctx      context.Context // ends when the door is closed
	shut     context.CancelFunc
	serving  sync.WaitGroup
}

// way decides where a connection leads: from, which stands for the connection, through the proxy to the
// address upstream. After an error, the door closes the connection.
type way func(ctx context.Context, c net.Conn) (from net.Conn, p *proxy, upstream string, err error)

// door opens a door on a free port of host, an IPv4 address of this machine.
func (p *proxies) door(name, host string, w way) (*door, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("door to %s: %w", name, err)
	}
	d := &door{listener: l}
	d.ctx, d.shut = context.WithCancel(context.Background())
	p.mu.Lock()
	p.doors = append(p.doors, d)
	p.mu.Unlock()
	d.serving.Go(func() { d.accept(w) })
	return d, nil
}

// forward opens a proxy, with a door from which it leads to the address that upstream returns.
func (p *proxies) forward(from, to, host string, upstream func() string) (*proxy, *door, error) {
	one := p.open(from, to)
	d, err := p.door(to, host, func(_ context.Context, c net.Conn) (net.Conn, *proxy, string, error) {
		return c, one, upstream(), nil
	})
	return one, d, err
}

func (d *door) accept(w way) {
	for {
		c, err := testbed.Accept(d.listener)
		if err != nil {
			return
		}
		d.serving.Go(func() {
			if d.lead(c, w) != nil {
				c.Close() // the other side may try again
			}
		})
	}
}

func (d *door) lead(c net.Conn, w way) error {
	stop := context.AfterFunc(d.ctx, func() { c.Close() })
	defer stop()
	from, p, upstream, err := w(d.ctx, c)
	if err != nil {
		return err
	}
	to, err := new(net.Dialer).DialContext(d.ctx, "tcp4", upstream)
	if err != nil {
		return err
	}
	_, err = p.join(from, to)
	return err
}

// announced returns the door's address.
func (d *door) announced() string { return d.listener.Addr().String() }

// addr returns the door's host and port, for a server's configuration.
func (d *door) addr() (host, port string) {
	host, port, _ = net.SplitHostPort(d.announced())
	return host, port
}

// close ends the door. Connections through it go on.
func (d *door) close() {
	d.shut()
	d.listener.Close()
	d.serving.Wait()
}

// directions splits testbed.Both into its two directions.
func directions(d testbed.Direction) []testbed.Direction {
	if d == testbed.Both {
		return []testbed.Direction{testbed.Upstream, testbed.Downstream}
	}
	return []testbed.Direction{d}
}

var directionsKnown = []testbed.Direction{testbed.Upstream, testbed.Downstream, testbed.Both}
