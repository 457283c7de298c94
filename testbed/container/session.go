package container

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/moby/moby/client"
)

// session is shared by the trials of one testbed. It has a bridge network, and a process that
// removes the session's containers and networks if this process dies.
type session struct {
	engine  *engine
	image   image
	name    string
	network string // the network's id
	gateway netip.Addr
	reaper  *reaper // nil = none
}

// openSession makes a new session, for servers of that image.
func (e *engine) openSession(ctx context.Context, i image, reaper []string) (s *session, err error) {
	s = &session{engine: e, image: i, name: rand.Text()}
	if len(reaper) > 0 {
		if s.reaper, err = startReaper(slices.Concat(reaper, []string{s.name})); err != nil {
			return nil, err
		}
	}
	if err := s.makeNetwork(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// makeNetwork makes a bridge network, from whose addresses the engine gives one to each container that starts.
func (s *session) makeNetwork(ctx context.Context) error {
	made, err := s.engine.client.NetworkCreate(ctx, s.networkName(), client.NetworkCreateOptions{Driver: "bridge", Labels: s.labels()})
	if err != nil {
		return fmt.Errorf("make a network: %w", err)
	}
	look, err := s.engine.client.NetworkInspect(ctx, made.ID, client.NetworkInspectOptions{})
	if err != nil {
		return fmt.Errorf("make a network: %w", err)
	}
	s.network = made.ID
	for _, c := range look.Network.IPAM.Config {
		if c.Gateway.Is4() {
			s.gateway = c.Gateway
			return nil
		}
	}
	return errors.New("make a network: the engine's have no IPv4")
}

func (s *session) labels() map[string]string { return map[string]string{labelSession: s.name} }

func (s *session) networkName() string { return "lockstorm-" + strings.ToLower(s.name) }

// close removes all containers and networks of the session, and ends the reaper.
func (s *session) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := s.engine.remove(ctx, s.name)
	if s.reaper != nil {
		err = errors.Join(err, s.reaper.end(err == nil))
	}
	return err
}
