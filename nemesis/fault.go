package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// Capabilities of a testbed that faults need, as named in Fault.Needs.
const (
	NeedNetwork = "network"
	NeedNodes   = "nodes"
	NeedClocks  = "clocks"
	NeedClients = "clients"
)

// Fault is one way to disturb a trial.
type Fault struct {
	Name  string // "client-pause"
	Doc   string // what it does, in one line
	Color string // of its windows in pictures, "#rrggbb"
	// Needs names the capabilities that it asks of the testbed's Env.
	Needs []string
	// Topology is the smallest arrangement of nodes in which the fault can
	// strike a recipe of that topology; false if there is none.
	Topology func(locks.Topology) (testbed.Topology, bool)
	// Impossible says why the fault has nothing to strike in this world, ""
	// if it has. Nil means that it always has.
	Impossible func(w World) string
	// Plans returns the fault's variants in this world, the most telling ones
	// first: trial k runs number k. Their order does not depend on r.
	Plans func(w World, r *rand.Rand) []Plan

	// target names what an action strikes.
	target func(s *strike) string
	// inject puts the fault in force and returns how to take it back. It has to
	// leave nothing behind if it fails.
	inject func(ctx context.Context, s *strike) (heal, error)
}

// heal takes a fault back and tells what it hit. Its context outlives the
// trial's. It is called once.
type heal func(ctx context.Context) (result, error)

// result is what a fault hit: a count that was proven, and the proof in words.
type result struct {
	hits     int
	evidence string
}

// faults is in the order in which lists and matrices show them.
var faults = []Fault{
	none,
	clientCrash, clientPause,
	partition, partitionRequests, partitionReplies,
	lostReply, delay, reset,
	nodePause, nodeRestart, failover,
	clientSkew,
	scriptFlush,
}

// All returns every fault, in a fixed order.
func All() []Fault { return slices.Clone(faults) }

// ByName returns the fault of that name.
func ByName(name string) (Fault, bool) {
	i := slices.IndexFunc(faults, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, false
	}
	return faults[i], true
}

// Supported returns the topology in which f is tried on a recipe that needs t,
// given what a testbed can set up. The error wraps ErrNotSupported and says what
// is missing.
func Supported(f Fault, t locks.Topology, have []testbed.Topology) (testbed.Topology, error) {
	want, ok := f.Topology(t)
	if !ok {
		return "", fmt.Errorf("%s: %w: it cannot strike %s nodes", f.Name, ErrNotSupported, t)
	}
	if !slices.Contains(have, want) {
		return "", fmt.Errorf("%s: %w: the testbed has no %s topology", f.Name, ErrNotSupported, want)
	}
	return want, nil
}

// Capable says whether the running world has what f needs. The error wraps
// ErrNotSupported.
func Capable(f Fault, env testbed.Env) error {
	for _, need := range f.Needs {
		var ok bool
		switch need {
		case NeedNetwork:
			_, ok = env.(testbed.Network)
		case NeedNodes:
			_, ok = env.(testbed.Nodes)
		case NeedClocks:
			_, ok = env.(testbed.Clocks)
		case NeedClients:
			_, ok = env.(testbed.Clients)
		}
		if !ok {
			return fmt.Errorf("%s: %w: the testbed cannot disturb %s", f.Name, ErrNotSupported, need)
		}
	}
	return nil
}

// sameTopology is for faults that strike whatever a recipe runs on.
func sameTopology(t locks.Topology) (testbed.Topology, bool) {
	switch t {
	case locks.Single:
		return testbed.Single, true
	case locks.Independent:
		return testbed.Independent, true
	}
	return "", false
}
