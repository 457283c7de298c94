// Package external runs trials on any Redis that the user names, which others may use at
// the same time. Clients, gate, links and faults are those of package live; a guard
// between its taps and the server confines every command to keys and channels whose names
// begin with the testbed's random prefix and the trial's number.
//
// What can be disturbed is on our side: clients, their clocks, and the links, by
// proxies on this machine. Nothing disturbs the server itself, and no command is
// sent that could touch what is not the trial's.
package external

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// Name of the testbed.
const Name = "external"

// Options of the testbed.
type Options struct {
	// Addrs of the servers: host:port, redis://user@host:port/db or rediss://…,
	// without a password. Several are independent of each other.
	Addrs []string
	// TLS is spoken if it is asked for, if one of the files below is named, or if
	// the address begins with rediss:.
	TLS bool
	// CA is a file with certificates of authorities to believe; "" = the system's.
	CA string
	// Cert and Key are files with our own certificate and its key, if the server
	// asks for one.
	Cert, Key string
	// User of Redis's access control; "" = the default one.
	User string
	// Password, "" = none is given.
	Password Secret
	// DB is the database's number, unless an address names one.
	DB int
	// Clients of a trial, and trials at a time: the load that the servers are asked to
	// bear.
	Clients, Parallel int
	// Really goes on even if others who use a server might be hurt.
	Really bool
	// Temp is as in live.New.
	Temp string
}

// Testbed runs trials on the servers.
type Testbed struct {
	*live.Testbed
	version string
	nodes   int
	prefix  string
}

// New looks whether the servers are there, let us in and can be used, and returns
// the testbed. The error says in one line what is missing, or why Options.Really
// is asked for.
func New(ctx context.Context, o Options) (*Testbed, error) {
	targets, err := o.targets()
	if err != nil {
		return nil, err
	}
	prefix := newPrefix()
	seen := map[string]string{} // addresses, by the server's identity
	var version string
	for _, t := range targets {
		found, err := inspect(ctx, t, prefix)
		if err != nil {
			return nil, err
		}
		if other, again := seen[found.id]; again && found.id != "" {
			return nil, fmt.Errorf("%s and %s are one server: expected servers that know nothing of each other", other, t.addr)
		}
		seen[found.id] = t.addr
		version = found.version
		if harm := found.harm(o); len(harm) > 0 && !o.Really {
			return nil, fmt.Errorf("%s: %s; --yes-really goes on all the same", t.addr, strings.Join(harm, "; "))
		}
	}
	p := provider{targets, prefix, new(atomic.Int64)}
	return &Testbed{Testbed: live.New(p, o.Temp), version: version, nodes: len(targets), prefix: prefix}, nil
}

// Sketch returns a testbed that says what worlds several servers would have. It cannot be
// run.
func Sketch() testbed.Testbed { return live.New(provider{targets: make([]target, 2)}, "") }

// Nodes is how many servers there are.
func (t *Testbed) Nodes() int { return t.nodes }

// Without implements testbed.Without.
func (t *Testbed) Without() map[testbed.Topology]string {
	if t.nodes > 1 {
		return nil
	}
	return map[testbed.Topology]string{testbed.Independent: "give several --addr"}
}

// Version of the servers: the last one's.
func (t *Testbed) Version() string { return t.version }

// Prefix begins the names of all keys that trials have on the servers. By it, Clean finds
// and removes what a killed program left there.
func (t *Testbed) Prefix() string { return t.prefix }

// provider implements live.Guest.
type provider struct {
	targets []target
	prefix  string
	trials  *atomic.Int64 // that were opened
}

var _ live.Guest = provider{}

// Name implements live.Provider.
func (provider) Name() string { return Name }

// Topologies implements live.Guest.
func (p provider) Topologies() []testbed.Topology {
	if len(p.targets) == 1 {
		return []testbed.Topology{testbed.Single}
	}
	return []testbed.Topology{testbed.Single, testbed.Independent}
}

// Open implements live.Provider: it gives one trial a prefix of its own.
func (p provider) Open(context.Context) (live.Place, error) {
	return &place{targets: p.targets, prefix: fmt.Sprintf("%s%d:", p.prefix, p.trials.Add(1))}, nil
}

// place is one trial's share of the servers.
type place struct {
	targets []target
	prefix  string
}

// Doors implements live.Place. No server has to reach us.
func (*place) Doors() string { return "127.0.0.1" }

// Close implements live.Place.
func (*place) Close() error { return nil }

// Start implements live.Place. It starts nothing: the servers run.
func (p *place) Start(_ context.Context, o live.ServerOptions) (live.Server, error) {
	i, err := strconv.Atoi(strings.TrimPrefix(o.Name, "n"))
	if err != nil || i >= len(p.targets) {
		return nil, fmt.Errorf("node %s: there are addresses of %d servers", o.Name, len(p.targets))
	}
	s := newServer(p.targets[i], p.prefix)
	if o.Log != "" {
		text := fmt.Sprintf("%s: the trial's keys and channels on %s began with %s\n", o.Name, s.addr, p.prefix)
		if err := os.WriteFile(o.Log, []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("node %s: %w", o.Name, err)
		}
	}
	return s, nil
}
