// Package process runs trials on redis-server processes of its own.
package process

import (
	"context"
	"fmt"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// Options of the testbed. The zero value is good.
type Options struct {
	// Temp is where the nodes' directories are made and removed again; "" =
	// the system's directory for temporary files.
	Temp string
}

// New returns the testbed, or an error if there is no redis-server that it
// could run.
func New(o Options) (*live.Testbed, error) {
	if _, _, err := redisserver.Find(); err != nil {
		return nil, err
	}
	return live.New(provider{}, o.Temp), nil
}

// provider implements live.Provider.
type provider struct{}

func (provider) Name() string { return "process" }

func (provider) Open(context.Context) (live.Place, error) { return place{}, nil }

// place implements live.Place: the loopback interface.
type place struct{}

func (place) Doors() string { return "127.0.0.1" }

func (place) Close() error { return nil }

func (place) Start(ctx context.Context, o live.ServerOptions) (live.Server, error) {
	port := 0
	if before, ok := o.Before.(*redisserver.Server); ok {
		port = before.Port()
	}
	s, err := redisserver.Start(ctx, redisserver.Options{Dir: o.Dir, Log: o.Log, Port: port, Args: o.Args})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	return s, nil
}
