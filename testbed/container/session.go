package container

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/moby/moby/api/types/network"
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

	mu        sync.Mutex
	addresses addresses
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

// networkAttempts bounds the attempts to make a network: another program may take the
// address range that the engine proposed.
const networkAttempts = 5

// makeNetwork makes a bridge network whose addresses we assign, so that a container keeps its
// address. Such a network needs an address range. The engine chooses the range: we make a first
// network without a given range, remove that network, and use its range.
func (s *session) makeNetwork(ctx context.Context) (err error) {
	for range networkAttempts {
		var proposed network.Inspect
		if proposed, err = s.bridge(ctx, nil); err != nil {
			return fmt.Errorf("make a network: %w", err)
		}
		_, err = s.engine.client.NetworkRemove(ctx, proposed.ID, client.NetworkRemoveOptions{})
		if err != nil {
			return fmt.Errorf("make a network: %w", err)
		}
		for _, c := range proposed.IPAM.Config {
			if !c.Subnet.Addr().Is4() {
				continue
			}
			var made network.Inspect
			if made, err = s.bridge(ctx, &network.IPAM{Config: []network.IPAMConfig{{Subnet: c.Subnet, Gateway: c.Gateway}}}); err == nil {
				s.network, s.gateway, s.addresses = made.ID, c.Gateway, newAddresses(c.Subnet, c.Gateway)
				return nil
			}
		}
	}
	if err == nil {
		err = errors.New("the engine proposes none with IPv4")
	}
	return fmt.Errorf("make a network: %w", err)
}

func (s *session) labels() map[string]string { return map[string]string{labelSession: s.name} }

func (s *session) networkName() string { return "lockstorm-" + strings.ToLower(s.name) }

// bridge makes a bridge network and returns its properties.
func (s *session) bridge(ctx context.Context, ipam *network.IPAM) (network.Inspect, error) {
	made, err := s.engine.client.NetworkCreate(ctx, s.networkName(), client.NetworkCreateOptions{
		Driver: "bridge", Labels: s.labels(), IPAM: ipam,
	})
	if err != nil {
		return network.Inspect{}, err
	}
	look, err := s.engine.client.NetworkInspect(ctx, made.ID, client.NetworkInspectOptions{})
	return look.Network, err
}

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

// addresses assigns the addresses of a network.
type addresses struct {
	subnet netip.Prefix
	last   netip.Addr
	used   map[netip.Addr]bool
}

// newAddresses returns the addresses of a subnet, all free except the subnet's own and the
// gateway's.
func newAddresses(subnet netip.Prefix, gateway netip.Addr) addresses {
	subnet = subnet.Masked()
	return addresses{subnet: subnet, last: subnet.Addr(), used: map[netip.Addr]bool{subnet.Addr(): true, gateway: true}}
}

// takeAddress assigns the next free address in a cycle, without the broadcast address. Addresses
// are reused late, so that a new container is not taken for an old one.
func (s *session) takeAddress() (netip.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &s.addresses
	for range 1 << (32 - a.subnet.Bits()) {
		a.last = a.last.Next()
		if !a.subnet.Contains(a.last) || !a.subnet.Contains(a.last.Next()) { // skip the broadcast address
			a.last = a.subnet.Addr()
		}
		if !a.used[a.last] {
			a.used[a.last] = true
			return a.last, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no address of network %v is free", a.subnet)
}

func (s *session) freeAddress(a netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.addresses.used, a)
}
