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
	Doc   string // the effect, in one line
	Color string // of its windows in pictures, "#rrggbb"
	// Undisturbed says that the fault does nothing: its trials show a recipe's commands,
	// and its flaws without any disturbance.
	Undisturbed bool
	// Mix says that the fault combines others: its actions and their windows in the history
	// carry the names of those faults.
	Mix bool
	// Needs are the capabilities that the testbed's Env must have.
	Needs []testbed.Capability
	// Topologies are the arrangements of nodes in which the fault can strike a recipe of
	// that topology, the best one first; none if it cannot strike.
	Topologies func(locks.Topology) []testbed.Topology
	// Impossible returns why the fault has nothing to strike in this world; Why is "" if it
	// can strike. A nil function means that it always can.
	Impossible func(w World) Unsupported
	// Plans returns the fault's variants in this world, the most telling ones first: trial
	// k runs variant k. Their order does not depend on r. An action that names no fault is
	// the fault's own. A drawn plan strikes as often as a trial of the given Duration has
	// time for; a named schedule strikes once, and sets its trial's length.
	Plans func(w World, r *rand.Rand) []Plan

	// named enumerates the fault's schedules (see Named); nil = none. An action that names
	// no fault is the fault's own.
	named func(w World) []Schedule
	// sweep varies the fault's size (see Sweep); the zero value = it has none.
	sweep sweep
	// provokes names other faults that this one may cause where nodes elect a primary.
	provokes []string
	// deadly says that the client takes no step any more: it is dead, or hangs. A mix aims
	// nothing more at it.
	deadly bool
	// freezes says that the fault keeps its client from its next step. If the harness holds
	// that client for longer, the extra time counts as part of the fault.
	freezes bool
	// effect is the fault's effect on its targets.
	effect history.FaultEffect
	// aim enters an action's targets into its window.
	aim func(s *injection, w *history.Window)
	// inject puts the fault in force and returns its heal. If it fails, it leaves nothing
	// behind.
	inject func(ctx context.Context, s *injection) (heal, error)
}

// heal ends a fault and returns its hits. It is called once, with a context that outlives
// the trial's.
type heal func(ctx context.Context) (result, error)

// result is the proven number of hits, and their details.
type result struct {
	hits   int
	impact *history.Impact
}

// faults lists all faults in the order of lists and matrices.
var faults = slices.Concat([]Fault{none}, disturbances, []Fault{chaos})

// disturbances are the faults that chaos mixes. A new fault is a row here and its own file.
var disturbances = []Fault{
	clientCrash, clientPause, slowWork, hungWork,
	partition, partitionRequests, partitionReplies,
	lostReply, delay, reset,
	nodePause, nodeRestart, failover, splitBrain,
	clientSkew, nodeClock,
	scriptFlush, eviction, slotMigration,
}

// All returns every fault, in a fixed order.
func All() []Fault { return slices.Clone(faults) }

// ByName returns the fault with this name, and whether there is one.
func ByName(name string) (Fault, bool) {
	i := slices.IndexFunc(faults, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, false
	}
	return faults[i], true
}

// Effect returns the effect of the fault with this name on its targets; "" if there is no
// such fault or it has none.
func Effect(name string) history.FaultEffect {
	f, _ := ByName(name)
	return f.effect
}

// Mixes reports whether the fault with this name is a mix of others.
func Mixes(name string) bool {
	f, ok := ByName(name)
	return ok && f.Mix
}

// Undisturbed returns the fault that does nothing. Probe trials use it.
func Undisturbed() Fault {
	return faults[slices.IndexFunc(faults, func(f Fault) bool { return f.Undisturbed })]
}

// Supported returns the topology in which f is tried on a recipe that needs t, on a testbed
// with these topologies and capabilities. The error is an Unsupported that says what is
// missing.
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

// missing returns the capabilities that f needs and have lacks.
func (f Fault) missing(have []testbed.Capability) []testbed.Capability {
	return slices.DeleteFunc(slices.Clone(f.Needs), func(need testbed.Capability) bool { return slices.Contains(have, need) })
}

// Capable returns nil if the running world has the capabilities that f needs, else an error
// that wraps ErrNotSupported.
func Capable(f Fault, env testbed.Env) error {
	if missing := f.missing(testbed.CapabilitiesOf(env)); len(missing) > 0 {
		return Unsupported{Fault: f.Name, Why: NoCapability, Needs: missing[0]}
	}
	return nil
}

// Provoked names the other faults that the given fault may cause in a topology.
func Provoked(fault string, t testbed.Topology) []string {
	f, ok := ByName(fault)
	if !ok || t != testbed.Sentinel && t != testbed.Cluster {
		return nil
	}
	return f.provokes
}

// variants returns the fault's Plans, with the fault's name in actions that name none.
func (f Fault) variants(w World, r *rand.Rand) []Plan {
	all := f.Plans(w, r)
	for _, p := range all {
		p.of(f)
	}
	return all
}

// sameTopology is the Topologies of faults that can strike in every topology.
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
