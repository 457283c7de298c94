package live

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"

	"github.com/lockstorm/lockstorm/testbed"
)

// proxies are all toxiproxy proxies of one trial, one per link. No HTTP server
// runs; toxiproxy says nothing.
type proxies struct {
	server *toxiproxy.ApiServer
	died   func(error) // called when a proxy accepts no connections any more

	mu  sync.Mutex
	all []*proxy
}

func newProxies(died func(error)) *proxies {
	return &proxies{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), died: died}
}

// proxy is the toxiproxy proxy of one link.
type proxy struct {
	*toxiproxy.Proxy
	valves map[testbed.Direction]*valve
	// refused gets a value when an accepted connection is closed because upstream was not
	// reached.
	refused chan struct{}

	mu     sync.Mutex
	resets int
}

// open starts a proxy on a free port of host, an IPv4 address of this machine, in
// front of upstream.
func (p *proxies) open(name, host, upstream string) (*proxy, error) {
	one := &proxy{
		Proxy:  toxiproxy.NewProxy(p.server, name, net.JoinHostPort(host, "0"), upstream),
		valves: map[testbed.Direction]*valve{}, refused: make(chan struct{}, 1),
	}
	logger := zerolog.New(io.Discard).Level(zerolog.WarnLevel).Hook(listener(func(message string) { p.hear(one, message) }))
	one.Logger = &logger
	for _, d := range directions(testbed.Both) {
		t, err := one.add(valveType, d)
		if err != nil {
			return nil, err
		}
		one.valves[d] = t.(*valve)
	}
	if err := one.Start(); err != nil {
		return nil, fmt.Errorf("proxy %s: %w", name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, one)
	return one, nil
}

// Messages that toxiproxy only logs. One cause of both is a lack of file descriptors.
const (
	saysRefused = "Unable to open connection to upstream"
	saysDied    = "Error while accepting client" // it takes no other after that
)

// listener is a zerolog.Hook that hears what is logged.
type listener func(message string)

// Run implements zerolog.Hook.
func (l listener) Run(_ *zerolog.Event, _ zerolog.Level, message string) { l(message) }

// hear handles a log message about a proxy; toxiproxy goes on when hear returns.
func (p *proxies) hear(one *proxy, message string) {
	switch message {
	case saysRefused:
		select {
		case one.refused <- struct{}{}:
		default: // nobody waited for the last one
		}
	case saysDied:
		p.died(fmt.Errorf("proxy %s takes no connections any more", one.Name))
	}
}

// lead sets the proxy's upstream. If upstream changes, the proxy's connections end, and
// it listens on another port: the old port may be taken by then. Its valves stay as they
// are.
func (p *proxy) lead(upstream string) error {
	if p.Upstream == upstream && p.Enabled { // written only here
		return nil
	}
	host, _, err := net.SplitHostPort(p.Listen)
	if err != nil {
		return fmt.Errorf("proxy %s: %w", p.Name, err)
	}
	err = p.Update(&toxiproxy.Proxy{Listen: net.JoinHostPort(host, "0"), Upstream: upstream, Enabled: true})
	if err != nil {
		return fmt.Errorf("proxy %s: %w", p.Name, err)
	}
	return nil
}

// heal opens all valves; what they held is dropped.
func (p *proxies) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		one.open()
	}
}

// close stops all proxies and closes their connections.
func (p *proxies) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		one.Stop()
	}
}

// add adds a toxic, named after its type, to a direction.
func (p *proxy) add(kind string, d testbed.Direction) (toxics.Toxic, error) {
	spec := fmt.Sprintf(`{"name":"%s_%s","type":%[1]q,"stream":%[2]q}`, kind, d)
	w, err := p.Toxics.AddToxicJson(strings.NewReader(spec))
	if err != nil {
		return nil, fmt.Errorf("proxy %s: add %s: %w", p.Name, kind, err)
	}
	return w.Toxic, nil
}

// resetType is toxiproxy's own toxic that resets connections made after it.
const resetType = "reset_peer"

// reset resets the connections that are made until it is undone.
func (p *proxy) reset() (undo func(context.Context) error, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resets == 0 {
		if _, err := p.add(resetType, testbed.Upstream); err != nil {
			return nil, err
		}
	}
	p.resets++
	return func(ctx context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.resets--; p.resets > 0 {
			return nil
		}
		return p.Toxics.RemoveToxic(ctx, resetType+"_"+string(testbed.Upstream))
	}, nil
}

// shut cuts or holds the directions, until undone.
func (p *proxy) shut(d testbed.Direction, how func(*valve) (undo func())) (undo func()) {
	var undos []func()
	for _, one := range directions(d) {
		undos = append(undos, how(p.valves[one]))
	}
	return func() {
		for _, undo := range undos {
			undo()
		}
	}
}

// open ends all that shuts the link; what is held is dropped.
func (p *proxy) open() {
	for _, d := range directions(testbed.Both) {
		p.valves[d].open()
	}
}

// caught counts the messages that were ever cut or held.
func (p *proxy) caught(d testbed.Direction) int {
	n := 0
	for _, one := range directions(d) {
		n += p.valves[one].messages()
	}
	return n
}

// directions that d stands for.
func directions(d testbed.Direction) []testbed.Direction {
	if d == testbed.Both {
		return []testbed.Direction{testbed.Upstream, testbed.Downstream}
	}
	return []testbed.Direction{d}
}
