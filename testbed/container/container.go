// Package container runs trials on Docker containers of its own, made from any
// image of Redis or Valkey.
//
// Each trial has its own containers, on a bridge network of the testbed's. A
// container's port is published on 127.0.0.1, where links end; what its server
// keeps is in a directory of this machine, mounted at /data. For its peers, a
// server reaches this program at the gateway of the network, or in Docker Desktop
// by the name host.docker.internal.
//
// The engine must run on this machine: files, ports and clocks are shared with it. It has
// been tried with an engine on Linux. Support for Docker Desktop, for an engine without
// root or with user namespaces, and for SELinux follows their documentation.
//
// New sets TESTCONTAINERS_RYUK_DISABLED in this program's environment and takes
// testcontainers' logger away: whoever else uses testcontainers in the same program
// has neither its reaper nor its log from then on.
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

// Name is the testbed's.
const Name = "container"

// ImageVariable is the environment variable that names the image to run, if
// Options do not.
const ImageVariable = "LOCKSTORM_REDIS_IMAGE"

// DefaultImage is what runs if nobody names an image.
const DefaultImage = "redis:8"

// Options of the testbed. The zero value is good.
type Options struct {
	// Image is the image to run, as docker run takes it: Redis 6.2 or later, or
	// Valkey; "" = $LOCKSTORM_REDIS_IMAGE, or DefaultImage.
	Image string
	// Temp is where the nodes' directories are made and removed again; "" =
	// the system's directory for temporary files. The engine must be able to
	// mount them.
	Temp string
	// Prepare pulls the image if it is missing, and asks it for its version. Without
	// Prepare, New fails if the image is missing.
	Prepare bool
	// Reaper is the command line of a process that calls Reap; the session is added as its
	// last argument. The process is started beside the testbed, and removes what this
	// program leaves behind when it is killed. nil = none: then the next testbed on this
	// machine does it.
	Reaper []string
}

// Testbed runs trials on containers. Close ends it.
type Testbed struct {
	*live.Testbed
	provider *provider
	version  string
}

// New returns the testbed. If no engine on this machine answers, or there is no
// such image, that is an error of one line.
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

// Sketch returns a testbed that says what worlds it would have, for use where New fails.
// It cannot be run.
func Sketch() testbed.Testbed { return live.New(&provider{}, "") }

// Version is that of the image's server, "" if Options.Prepare did not ask for it.
func (t *Testbed) Version() string { return t.version }

// Close removes what trials share, and whatever else they may have left. No trial may run
// any more. It may be called twice.
func (t *Testbed) Close() error { return t.provider.close() }

// provider implements live.Provider.
type provider struct {
	engine  *engine
	options Options
	image   image
	clocks  error // why servers have no wall clocks of their own, nil = they have

	mu      sync.Mutex
	session *session // nil before the first trial and after close
}

func (*provider) Name() string { return Name }

// Elects implements live.Electing: from Docker Desktop's virtual machine, and from
// an engine without root, all containers come from one address.
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

// place implements live.Place: a part of the session's network.
type place struct{ *session }

var _ live.Hosted = place{}

// Doors implements live.Place.
func (p place) Doors() string {
	if p.engine.facts.desktop {
		return loopback
	}
	return p.gateway.String()
}

// Host implements live.Hosted. In Docker Desktop's virtual machine, this name leads to
// the machine's loopback interface.
func (p place) Host() string {
	if p.engine.facts.desktop {
		return "host.docker.internal"
	}
	return ""
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
