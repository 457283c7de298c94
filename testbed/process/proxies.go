package process

import (
	"fmt"
	"sync"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxies are all toxiproxy proxies of one trial, one per link. No HTTP server
// runs; toxiproxy says nothing.
type proxies struct {
	server *toxiproxy.ApiServer

	mu  sync.Mutex
	all []*toxiproxy.Proxy
}

func newProxies() *proxies {
	return &proxies{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())}
}

// open starts a proxy on a free loopback port in front of upstream.
func (p *proxies) open(name, upstream string) (*toxiproxy.Proxy, error) {
	proxy := toxiproxy.NewProxy(p.server, name, "127.0.0.1:0", upstream)
	if err := proxy.Start(); err != nil {
		return nil, fmt.Errorf("proxy %s: %w", name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, proxy)
	return proxy, nil
}

// close stops all proxies and closes their connections.
func (p *proxies) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, proxy := range p.all {
		proxy.Stop()
	}
}
