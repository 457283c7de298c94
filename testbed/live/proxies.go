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

// proxies are all toxiproxy proxies of one trial, one per link. toxiproxy's HTTP server
// does not run, and its log is discarded.
type proxies struct {
	server *toxiproxy.ApiServer
	died   func(error) // called if a proxy stops accepting connections

	mu  sync.Mutex
	all []*proxy
}

func newProxies(died func(error)) *proxies {
	return &proxies{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), died: died}
}

// proxy is the toxiproxy proxy of one link.
type proxy struct {
	*toxiproxy.Proxy
	toxics map[testbed.Direction]*linkToxic
	// refused gets a value when the proxy closes an accepted connection because it could
	// not reach upstream.
	refused chan struct{}

	mu     sync.Mutex
	resets int
}

// open starts a proxy to upstream, on a free port of host, an IPv4 address of this machine.
func (p *proxies) open(name, host, upstream string) (*proxy, error) {
	one := &proxy{
		Proxy:  toxiproxy.NewProxy(p.server, name, net.JoinHostPort(host, "0"), upstream),
		toxics: map[testbed.Direction]*linkToxic{}, refused: make(chan struct{}, 1),
	}
	logger := zerolog.New(io.Discard).Level(zerolog.WarnLevel).Hook(listener(func(message string) { p.hear(one, message) }))
	one.Logger = &logger
	for _, d := range directions(testbed.Both) {
		t, err := one.add(linkToxicType, d)
		if err != nil {
			return nil, err
		}
		one.toxics[d] = t.(*linkToxic)
	}
	if err := one.Start(); err != nil {
		return nil, fmt.Errorf("proxy %s: %w", name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, one)
	return one, nil
}

// Log messages of toxiproxy about two errors that it reports in no other way. A lack of file
// descriptors causes both errors.
const (
	saysRefused = "Unable to open connection to upstream"
	saysDied    = "Error while accepting client" // the proxy then accepts no more connections
)

// listener is a zerolog.Hook that gets each log message.
type listener func(message string)

// Run implements zerolog.Hook.
func (l listener) Run(_ *zerolog.Event, _ zerolog.Level, message string) { l(message) }

// hear handles a log message about a proxy; the proxy waits until hear returns.
func (p *proxies) hear(one *proxy, message string) {
	switch message {
	case saysRefused:
		select {
		case one.refused <- struct{}{}:
		default: // nobody has received the last value
		}
	case saysDied:
		p.died(fmt.Errorf("proxy %s takes no connections any more", one.Name))
	}
}

// lead sets the proxy's upstream. If upstream changes, the proxy's connections end, and the proxy
// listens on another port, since the old port may be taken by then. The proxy's toxics stay.
func (p *proxy) lead(upstream string) error {
	if p.Upstream == upstream && p.Enabled { // after open, only lead changes Upstream
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

// heal opens all toxics. Messages that they held are dropped.
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

// add adds a toxic of that type to a direction of the proxy, under the name type_direction.
func (p *proxy) add(kind string, d testbed.Direction) (toxics.Toxic, error) {
	spec := fmt.Sprintf(`{"name":"%s_%s","type":%[1]q,"stream":%[2]q}`, kind, d)
	w, err := p.Toxics.AddToxicJson(strings.NewReader(spec))
	if err != nil {
		return nil, fmt.Errorf("proxy %s: add %s: %w", p.Name, kind, err)
	}
	return w.Toxic, nil
}

// resetType is toxiproxy's toxic that resets connections made after it was added.
const resetType = "reset_peer"

// reset makes the proxy reset new connections until undone.
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

// shut calls how (cut, hold or holdOne) on the proxy's toxic in direction d, or on both toxics if
// d is testbed.Both. undo undoes each call.
func (p *proxy) shut(d testbed.Direction, how func(*linkToxic) (undo func())) (undo func()) {
	var undos []func()
	for _, one := range directions(d) {
		undos = append(undos, how(p.toxics[one]))
	}
	return func() {
		for _, undo := range undos {
			undo()
		}
	}
}

// open opens the proxy's toxics. Messages that they held are dropped.
func (p *proxy) open() {
	for _, d := range directions(testbed.Both) {
		p.toxics[d].open()
	}
}

// caught returns how many messages in direction d, or in both, were ever cut or held
// (linkToxic.messages).
func (p *proxy) caught(d testbed.Direction) int {
	n := 0
	for _, one := range directions(d) {
		n += p.toxics[one].messages()
	}
	return n
}

// directions splits testbed.Both into its two directions.
func directions(d testbed.Direction) []testbed.Direction {
	if d == testbed.Both {
		return []testbed.Direction{testbed.Upstream, testbed.Downstream}
	}
	return []testbed.Direction{d}
}

var directionsKnown = []testbed.Direction{testbed.Upstream, testbed.Downstream, testbed.Both}
