package external

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// Name is the testbed's name.
const Name = "external"

// Options configure the testbed.
type Options struct {
	// Addrs are the servers' addresses: host:port, redis://user@host:port/db or rediss://…,
	// without a password. Several servers must be independent of each other.
	Addrs []string
	// TLS makes connections use TLS. So does a file in CA, Cert or Key, or an address that begins
	// with rediss:.
	TLS bool
	// CA is a file with certificates of trusted authorities; "" = the system's.
	CA string
	// Cert and Key are files with our own certificate and its key, for a server that asks for a
	// client's certificate.
	Cert, Key string
	// User is a user of Redis's access control; "" = the default user.
	User string
	// Password is the password; "" = none.
	Password Secret
	// DB is the number of the database, if the address names none.
	DB int
	// Clients is the number of clients per trial. Parallel is the number of concurrent trials.
	// Together they are the load on the servers.
	Clients, Parallel int
	// Really makes New succeed even if the load might harm other users of a server.
	Really bool
	// Own makes New succeed even if no access control confines the user: nobody else uses the servers.
	Own bool
	// Temp is the directory for temporary files of trials; "" = the system's.
	Temp string
}

// Testbed runs trials on the servers.
type Testbed struct {
	*live.Testbed
	version string
	nodes   int
	prefix  string
}

// family is part of the names of all locks, and so of all keys and channels of trials.
const family = "lockstorm:"

// newPrefix returns a random prefix for one testbed. The prefixes of the testbed's trials begin
// with it. The prefix is not derived from a trial's seed: two runs of one trial must not share
// keys.
func newPrefix() string {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return family + hex.EncodeToString(random[:]) + ":"
}

// New returns the testbed, after it has checked that the servers can be reached, permit the login,
// are usable, and confine the user to names with family. The error says in one line what is missing,
// or why Options.Own or Options.Really is required.
func New(ctx context.Context, o Options) (*Testbed, error) {
	targets, err := o.targets()
	if err != nil {
		return nil, err
	}
	prefix := newPrefix()
	seen := map[string]string{} // addresses by run_id
	var version string
	for _, t := range targets {
		found, err := inspect(ctx, t, prefix, o.Own)
		if err != nil {
			return nil, err
		}
		if other, again := seen[found.id]; again && found.id != "" {
			return nil, fmt.Errorf("%s and %s are one server: expected servers that know nothing of each other", other, t.addr)
		}
		seen[found.id] = t.addr
		version = found.version
		if harm := found.harm(o); len(harm) > 0 && !o.Really {
			return nil, input.Errorf("%s: %s; %s goes on all the same", t.addr, strings.Join(harm, "; "), input.Setting("yes-really"))
		}
	}
	p := provider{targets, prefix, new(atomic.Int64)}
	return &Testbed{Testbed: live.New(p, o.Temp), version: version, nodes: len(targets), prefix: prefix}, nil
}

// Sketch returns a testbed that only describes its worlds, as if it had several servers. It
// cannot run trials.
func Sketch() testbed.Testbed { return live.New(provider{targets: make([]target, 2)}, "") }

// Nodes returns the number of servers.
func (t *Testbed) Nodes() int { return t.nodes }

// Without implements testbed.Without.
func (t *Testbed) Without() map[testbed.Topology]string {
	if t.nodes > 1 {
		return nil
	}
	return map[testbed.Topology]string{testbed.Independent: "give several addresses"}
}

// Version returns the version of the last of the servers, such as "7.2.4" or "Valkey 8.0.1"; "" if
// that server refuses INFO.
func (t *Testbed) Version() string { return t.version }

// Prefix returns the prefix of the names of all locks. With it, Clean removes the keys that a killed
// program left.
func (t *Testbed) Prefix() string { return t.prefix }

// provider implements live.Guest.
type provider struct {
	targets []target
	prefix  string
	trials  *atomic.Int64 // number of trials so far
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

// Open implements live.Provider. It gives each trial a prefix of its own.
func (p provider) Open(context.Context) (live.Place, error) {
	return &place{p.targets, fmt.Sprintf("%s%d:", p.prefix, p.trials.Add(1))}, nil
}

// place implements live.Shared for one trial.
type place struct {
	targets []target
	prefix  string
}

var _ live.Shared = (*place)(nil)

// Prefix implements live.Shared.
func (p *place) Prefix() string { return p.prefix }

// Listen implements live.Place, but no server connects to this program.
func (*place) Listen() (ip, host string) { return "127.0.0.1", "127.0.0.1" }

// Close implements live.Place.
func (*place) Close() error { return nil }

// Start implements live.Place. The server that it returns runs already.
func (p *place) Start(_ context.Context, o live.ServerOptions) (live.Server, error) {
	i, err := strconv.Atoi(strings.TrimPrefix(o.Name, "n"))
	if err != nil || i >= len(p.targets) {
		return nil, fmt.Errorf("node %s: there are addresses of %d servers", o.Name, len(p.targets))
	}
	s := newServer(p.targets[i], p.prefix)
	if o.Log != "" {
		text := fmt.Sprintf("%s: the names of the trial's locks on %s began with %s\n", o.Name, s.addr, p.prefix)
		if err := os.WriteFile(o.Log, []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("node %s: %w", o.Name, err)
		}
	}
	return s, nil
}
