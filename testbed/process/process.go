package process

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/testbed/clockshim"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// Options configure the testbed. The zero value is usable.
type Options struct {
	// Temp is the directory in which the nodes' directories are made and removed; "" = the
	// system's directory for temporary files.
	Temp string
}

// New returns the testbed, or an error if no usable redis-server is installed.
func New(o Options) (*live.Testbed, error) {
	if _, _, err := redisserver.Find(); err != nil {
		return nil, err
	}
	return live.New(provider{}, o.Temp), nil
}

// provider implements live.Provider.
type provider struct{}

var _ live.Clockmaker = provider{}

func (provider) Name() string { return "process" }

// Clocks implements live.Clockmaker.
func (provider) Clocks() error {
	_, err := clockshim.Find()
	return err
}

func (provider) Open(context.Context) (live.Place, error) { return place{}, nil }

// Elects implements live.Electing. Servers need different source addresses: Linux has all
// of 127.0.0.0/8, other systems only configured addresses.
func (provider) Elects() bool { return runtime.GOOS == "linux" }

// place implements live.Place on the loopback interface.
type place struct{}

func (place) Listen() (ip, host string) { return "127.0.0.1", "127.0.0.1" }

func (place) Close() error { return nil }

func (place) Start(ctx context.Context, o live.ServerOptions) (live.Server, error) {
	var env []string
	if o.Clock != "" {
		shim, err := clockshim.Find()
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", o.Name, err)
		}
		env = clockshim.Environment(shim, o.Clock)
	}
	s, err := redisserver.Start(ctx, redisserver.Options{
		Dir: o.Dir, Log: o.Log, Source: newSource(), Sentinel: o.Sentinel, Args: o.Args, Env: env,
	})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	return s, nil
}

// sources counts the servers of this program, to give each its own source address.
var sources atomic.Uint32

// newSource returns a loopback address as the source of one server's connections, "" on systems
// other than Linux. Other live servers usually have other addresses: each program starts at an
// address that depends on its process id.
func newSource() string {
	if !(provider{}).Elects() {
		return ""
	}
	n := uint32(os.Getpid())*65_521 + sources.Add(1)
	return fmt.Sprintf("127.%d.%d.%d", 1+n>>16%254, byte(n>>8), 1+n%254)
}
