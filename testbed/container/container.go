package container

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// Name is the testbed's name.
const Name = "container"

// ImageVariable is the environment variable that names the image to run if Options.Image is
// "".
const ImageVariable = "LOCKSTORM_REDIS_IMAGE"

// DefaultImage is the image to run if no other is named.
const DefaultImage = "redis:8"

// Options configure the testbed. The zero value is usable.
type Options struct {
	// Image is the image to run, as docker run takes it: Redis 6.2 or later, or
	// Valkey; "" = $LOCKSTORM_REDIS_IMAGE, or DefaultImage.
	Image string
	// Temp is the directory in which the nodes' directories are made and removed; "" = the system's
	// directory for temporary files. The engine must be able to mount the nodes' directories.
	Temp string
	// Prepare makes New pull a missing image and run the image, to learn the server's version
	// and whether the server loads the clock shim. Without Prepare, New fails if the image is
	// missing, and assumes that the server loads the shim.
	Prepare bool
	// Reaper is the command line of a process that calls Reap; the session's name is added
	// as the last argument. The testbed starts the process, which removes the containers
	// and networks that this program leaves if it is killed. nil = nobody removes them then.
	Reaper []string
}

// Testbed runs trials on containers. Close ends it.
type Testbed struct {
	*live.Testbed
	provider *provider
	version  string
}

// New returns the testbed. If no engine on this machine answers, or the image is missing,
// the error has one line.
func New(ctx context.Context, o Options) (*Testbed, error) {
	e, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	defer e.idle()
	p := &provider{engine: e, options: o}
	if p.image, err = e.image(ctx, cmp.Or(o.Image, os.Getenv(ImageVariable), DefaultImage), o.Prepare); err != nil {
		return nil, err
	}
	p.clocks = e.clocks(ctx, p.image, o.Prepare, o.Temp)
	version := ""
	if o.Prepare {
		if version, err = e.askVersion(ctx, p.image); err != nil {
			return nil, err
		}
	}
	return &Testbed{live.New(p, o.Temp), p, version}, nil
}

// Sketch returns a testbed that only describes its worlds, for use where New fails. It
// cannot run trials.
func Sketch() testbed.Testbed { return live.New(&provider{}, "") }

// Version returns the version of the image's server, "" without Options.Prepare.
func (t *Testbed) Version() string { return t.version }

// Close removes the trials' shared network, and anything else that trials may have left. No trial
// may be running. Close may be called twice.
func (t *Testbed) Close() error { return t.provider.close() }

// provider implements live.Provider.
type provider struct {
	engine  *engine
	options Options
	image   image
	clocks  error // why servers have no wall clocks of their own; nil if they do

	mu      sync.Mutex
	session *session // nil before the first trial and after close
}

func (*provider) Name() string { return Name }

// Elects implements live.Electing. With Docker Desktop, or an engine without root,
// connections from all containers have one source address, so that peers cannot recognise a
// server.
func (p *provider) Elects() bool {
	return p.engine == nil || !p.engine.facts.desktop && !p.engine.facts.rootless
}

// Open implements live.Provider. The first trial opens the session.
func (p *provider) Open(ctx context.Context) (live.Place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == nil {
		s, err := p.engine.openSession(ctx, p.image, p.options.Reaper)
		if err != nil {
			return nil, err
		}
		p.session = s
	}
	return place{p.session}, nil
}

func (p *provider) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.engine.idle()
	if p.session == nil {
		return nil
	}
	s := p.session
	p.session = nil
	return s.close()
}

// place implements live.Place for one trial, on the session's network.
type place struct{ *session }

// Listen implements live.Place. In Docker Desktop's virtual machine, host.docker.internal stands for
// this machine's loopback interface.
func (p place) Listen() (ip, host string) {
	if p.engine.facts.desktop {
		return loopback, "host.docker.internal"
	}
	return p.gateway.String(), p.gateway.String()
}

// Start implements live.Place.
func (p place) Start(ctx context.Context, o live.ServerOptions) (live.Server, error) {
	s, err := p.start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	return s, nil
}

// Close implements live.Place.
func (p place) Close() error {
	p.engine.idle()
	return nil
}
