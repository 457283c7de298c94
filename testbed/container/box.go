package container

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// box is a node's container. The container remains when its server is killed. The node's next
// server starts in the same container, with the same published port, but perhaps with another address.
type box struct {
	session *session
	id      string
	port    int // the server's port, published on loopback
	// For the server's own wall clock: the clock's files and the variables that name them.
	mounts      []mount.Mount
	environment []string

	remove func() error
}

// portAttempts bounds the attempts to start a container: another program may take the free
// port that we chose.
const portAttempts = 20

// newBox makes a container for a server, but does not start it.
func (s *session) newBox(ctx context.Context, o live.ServerOptions) (b *box, err error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	b = &box{session: s}
	if b.mounts, b.environment, err = ownClock(o.Clock); err != nil {
		return nil, err
	}
	if b.port, err = redisserver.FreePort(); err != nil {
		return nil, err
	}
	making, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	made, err := s.engine.client.ContainerCreate(making, s.request(b, o))
	b.id = made.ID
	b.remove = sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		if b.id == "" {
			return nil
		}
		return s.engine.removeContainer(ctx, b.id)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a container: %w", err), b.remove())
	}
	return b, nil
}

// request describes the container. The container runs the server directly, not the image's
// entrypoint, which would change the files' owner. The server listens on all addresses of its
// container, because nothing else uses the container.
func (s *session) request(b *box, o live.ServerOptions) client.ContainerCreateOptions {
	command := []string{filepath.Join(data, redisConf)}
	if o.Sentinel {
		command = slices.Concat([]string{filepath.Join(data, sentinelConf)}, redisserver.Basics(data, b.port), o.Args, []string{"--sentinel"})
	}
	p, _ := network.PortFrom(uint16(b.port), network.TCP)
	name := s.networkName()
	return client.ContainerCreateOptions{
		Name: strings.Join([]string{name, o.Name, strconv.Itoa(b.port)}, "-"),
		Config: &container.Config{
			Image: s.image.name, Entrypoint: []string{s.image.server}, Cmd: command, Env: b.environment,
			User: s.engine.facts.user, WorkingDir: data, Labels: s.labels(), ExposedPorts: network.PortSet{p: {}},
		},
		HostConfig: s.engine.facts.host(&container.HostConfig{
			NetworkMode:  container.NetworkMode(name),
			PortBindings: network.PortMap{p: {{HostIP: netip.MustParseAddr(loopback), HostPort: strconv.Itoa(b.port)}}},
			Mounts:       slices.Concat([]mount.Mount{{Type: mount.TypeBind, Source: o.Dir, Target: data}}, b.mounts),
		}),
	}
}

// loopback is the address on which ports are published.
const loopback = "127.0.0.1"

// furnish makes the node's directory, which may have been removed before a restart. For a Redis
// server, it also writes redis.conf.
func (b *box) furnish(o live.ServerOptions) error {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	if o.Sentinel {
		return nil
	}
	conf, err := configuration(slices.Concat(redisserver.Basics(data, b.port), redisserver.Data(), o.Args))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.Dir, redisConf), []byte(conf), 0o644)
}

// addresses returns the address on this machine at which the running container's port is published, and the
// container's own address on the session's network.
func (b *box) addresses(ctx context.Context) (published string, own netip.Addr, err error) {
	look, err := b.session.engine.client.ContainerInspect(ctx, b.id, client.ContainerInspectOptions{})
	if err != nil {
		return "", own, err
	}
	for _, n := range look.Container.NetworkSettings.Networks {
		if n.NetworkID == b.session.network {
			own = n.IPAddress
		}
	}
	p, _ := network.PortFrom(uint16(b.port), network.TCP)
	for _, at := range look.Container.NetworkSettings.Ports[p] {
		if port, err := strconv.ParseUint(at.HostPort, 10, 16); err == nil && at.HostIP.IsValid() {
			return netip.AddrPortFrom(at.HostIP, uint16(port)).String(), own, nil
		}
	}
	return "", own, fmt.Errorf("port %d of the container is not published", b.port)
}

// awaitAnswer waits until the box's server answers at its published port.
func (b *box) awaitAnswer(ctx context.Context) error {
	addr, _, err := b.addresses(ctx)
	if err != nil {
		return err
	}
	return untilAnswers(ctx, addr, nil)
}

// untilAnswers waits until a server answers at the address. It fails if gone is closed first; gone
// may be nil.
func untilAnswers(ctx context.Context, addr string, gone <-chan struct{}) error {
	again := time.NewTicker(pollInterval)
	defer again.Stop()
	for {
		select {
		case <-gone:
			return errors.New("the server has ended")
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer at %s: %w", addr, ctx.Err())
		case <-again.C:
			if answers(addr) {
				return nil
			}
		}
	}
}
