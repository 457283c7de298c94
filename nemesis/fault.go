package nemesis

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// Fault is one way to disturb a trial.
type Fault struct {
	Name  string // "client-pause"
	Doc   string // what it does, in one line
	Color string // of its windows in pictures, "#rrggbb"
	// Undisturbed says that it does nothing: its trials show what a recipe sends,
	// and breaks, by itself.
	Undisturbed bool
	// Mix says that it is made of the other faults: the actions of its plans, and their
	// windows in the history, bear the others' names.
	Mix bool
	// Needs are the capabilities that it asks of the testbed's Env.
	Needs []testbed.Capability
	// Topologies are the arrangements of nodes in which the fault can strike a
	// recipe of that topology, what suits it best first; none if it cannot.
	Topologies func(locks.Topology) []testbed.Topology
	// Impossible says why the fault has nothing to strike in this world; Why is "" if it
	// has. Nil means that it always has.
	Impossible func(w World) Unsupported
	// Plans returns the fault's variants in this world, the most telling ones
	// first: trial k runs number k. Their order does not depend on r. An action that
	// names no fault is the fault's own.
	Plans func(w World, r *rand.Rand) []Plan

	// named enumerates the fault's schedules, as Named says; nil = it has none. An action
	// that names no fault is the fault's own.
	named func(w World) []Schedule
	// provokes are other faults that it may bring about where nodes elect a primary.
	provokes []string
	// deadly says that whom it strikes cannot be struck again.
	deadly bool
	// freezes says that it stops the client that it strikes: time for which the harness
	// holds that client besides is part of the fault.
	freezes bool
	// effect is what it does to those that it strikes.
	effect history.FaultEffect
	// aim fills in what an action strikes.
	aim func(s *injection, w *history.Window)
	// inject puts the fault in force and returns how to take it back. It leaves nothing
	// behind if it fails.
	inject func(ctx context.Context, s *injection) (heal, error)
}

// heal takes a fault back and tells what it hit. Its context outlives the
// trial's. It is called once.
type heal func(ctx context.Context) (result, error)

// result is what a fault hit: a count that was proven, and how it struck.
type result struct {
	hits   int
	impact *history.Impact
}

// faults is in the order in which lists and matrices show them.
var faults = slices.Concat([]Fault{none}, disturbances, []Fault{chaos})

// disturbances are what a mix is made of. A new fault is a row here and a file of its own.
var disturbances = []Fault{
	clientCrash, clientPause,
	partition, partitionRequests, partitionReplies,
	lostReply, delay, reset,
	nodePause, nodeRestart, failover, splitBrain,
	clientSkew, nodeClock,
	scriptFlush, eviction, slotMigration,
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

// Mixes says whether the fault of that name is a mix of others.
func Mixes(name string) bool {
	f, ok := ByName(name)
	return ok && f.Mix
}

// Undisturbed returns the fault that does nothing, which probe trials run under.
func Undisturbed() Fault {
	return faults[slices.IndexFunc(faults, func(f Fault) bool { return f.Undisturbed })]
}

// Supported returns the topology in which f is tried on a recipe that needs t,
// given what a testbed can set up and what its worlds are capable of. The error is
// an Unsupported that says what is missing.
func Supported(f Fault, t locks.Topology, have []testbed.Topology, capabilities []testbed.Capability) (testbed.Topology, error) {
	suits := f.Topologies(t)
	if len(suits) == 0 {
		return "", Unsupported{Fault: f.Name, Why: WrongNodes, Nodes: t}
	}
	i := slices.IndexFunc(suits, func(want testbed.Topology) bool { return slices.Contains(have, want) })
	if i < 0 {
		return "", Unsupported{Fault: f.Name, Why: NoTopology, Topology: suits[len(suits)-1]}
	}
	if missing := f.missing(capabilities); len(missing) > 0 {
		return "", Unsupported{Fault: f.Name, Why: NoCapability, Needs: missing[0]}
	}
	return suits[i], nil
}

// missing are the capabilities that f needs beyond these.
func (f Fault) missing(have []testbed.Capability) []testbed.Capability {
	return slices.DeleteFunc(slices.Clone(f.Needs), func(need testbed.Capability) bool { return slices.Contains(have, need) })
}

// Capable says whether the running world has what f needs. The error wraps
// ErrNotSupported.
func Capable(f Fault, env testbed.Env) error {
	if missing := f.missing(capabilities(env)); len(missing) > 0 {
		return Unsupported{Fault: f.Name, Why: NoCapability, Needs: missing[0]}
	}
	return nil
}

// capabilities are those whose interface the running world implements.
func capabilities(env testbed.Env) []testbed.Capability {
	var have []testbed.Capability
	add := func(c testbed.Capability, implemented bool) {
		if implemented {
			have = append(have, c)
		}
	}
	add(testbed.CanNetwork, implements[testbed.Network](env))
	add(testbed.CanNodes, implements[testbed.Nodes](env))
	add(testbed.CanClocks, implements[testbed.Clocks](env))
	add(testbed.CanClients, implements[testbed.Clients](env))
	add(testbed.CanNodeClocks, implements[testbed.NodeClocks](env))
	add(testbed.CanMemory, implements[testbed.Memory](env))
	add(testbed.CanSplitBrain, implements[testbed.SplitBrain](env))
	add(testbed.CanSlots, implements[testbed.Slots](env))
	return have
}

// implements says whether the running world has the capability C.
func implements[C any](env testbed.Env) bool {
	_, ok := env.(C)
	return ok
}

// Provoked names the faults that the one of that name may bring about in a topology,
// besides what it does itself.
func Provoked(fault string, t testbed.Topology) []string {
	f, ok := ByName(fault)
	if !ok || t != testbed.Sentinel && t != testbed.Cluster {
		return nil
	}
	return f.provokes
}

// variants are the fault's Plans, with its name in its own actions.
func (f Fault) variants(w World, r *rand.Rand) []Plan {
	all := f.Plans(w, r)
	for _, p := range all {
		p.of(f)
	}
	return all
}

// sameTopology is for faults that strike in every topology.
func sameTopology(t locks.Topology) []testbed.Topology {
	switch t {
	case locks.Single:
		return []testbed.Topology{testbed.Single}
	case locks.Replicated:
		return []testbed.Topology{testbed.Replicated}
	case locks.Independent:
		return []testbed.Topology{testbed.Independent}
	}
	return nil
}
