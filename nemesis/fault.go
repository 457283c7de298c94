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
	Color string // color of the fault's windows in pictures, "#rrggbb"
	// Undisturbed says that the fault does nothing. Its trials show a recipe's commands, and the
	// flaws that need no disturbance.
	Undisturbed bool
	// Mix says that the fault combines other faults. Its actions, and their windows in the
	// history, carry the names of those faults.
	Mix bool
	// Needs are the capabilities that the testbed's Env must have.
	Needs []testbed.Capability
	// Topologies returns the testbed topologies in which the fault can strike a recipe that needs
	// the given locks.Topology, the best one first. It returns none if the fault cannot strike
	// such a recipe.
	Topologies func(locks.Topology) []testbed.Topology
	// Impossible returns why the fault has nothing to strike in this world; nil if the fault can strike.
	// A nil function means that the fault always can.
	Impossible func(w World) *Unsupported
	// Plans returns the fault's variants in this world, the most telling ones first: trial k runs
	// variant k. The order does not depend on r. An action without a fault name belongs to this
	// fault. A drawn plan strikes as often as World.Duration allows. A named schedule strikes
	// once, and determines the duration of its trial.
	Plans func(w World, r *rand.Rand) []Plan

	// schedules enumerates the fault's schedules (see Named); nil = none. An action without a fault
	// name belongs to this fault.
	schedules func(w World) []Schedule
	// sweep varies the fault's size (see Sweep); the zero value = the fault has no size to vary.
	sweep sweep
	// provokes names other faults that this one may cause where nodes elect a primary.
	provokes []string
	// deadly says that the struck client is dead or hangs, and takes no further step. A mix avoids
	// striking that client again.
	deadly bool
	// freezes says that the fault keeps the struck client from its next step. If the harness holds
	// that client for longer, the extra time counts as part of the fault.
	freezes bool
	// effect is the fault's effect on its targets.
	effect history.FaultEffect
	// aim enters the targets of an action into the history.Window that describes the action.
	aim func(s *injection, w *history.Window)
	// inject puts the fault in force and returns its heal. If inject fails, no part of the fault
	// stays in force.
	inject func(ctx context.Context, s *injection) (heal, error)
}

// heal ends a fault and returns its hits. It is called once. Its context does not end with the
// trial's.
type heal func(ctx context.Context) (result, error)

// result is the proven number of hits, and their details.
type result struct {
	hits   int
	impact *history.Impact
}

// faults lists all faults, in the order in which lists and matrices show them.
var faults = slices.Concat([]Fault{none}, disturbances, []Fault{chaos})

// disturbances are the faults that chaos mixes. A new fault needs a row here and its own file.
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

// Effect returns the effect of the fault with this name on its targets; "" if the fault is unknown
// or has no effect.
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
// with these topologies and capabilities, or what is missing.
func Supported(f Fault, t locks.Topology, have []testbed.Topology, capabilities []testbed.Capability) (testbed.Topology, *Unsupported) {
	suits := f.Topologies(t)
	if len(suits) == 0 {
		return "", &Unsupported{Fault: f.Name, Why: WrongNodes, Nodes: t}
	}
	i := slices.IndexFunc(suits, func(want testbed.Topology) bool { return slices.Contains(have, want) })
	if i < 0 {
		return "", &Unsupported{Fault: f.Name, Why: NoTopology, Topology: suits[len(suits)-1]}
	}
	if missing := f.missing(capabilities); len(missing) > 0 {
		return "", &Unsupported{Fault: f.Name, Why: NoCapability, Needs: missing[0]}
	}
	return suits[i], nil
}

// missing returns the capabilities that f needs and that are not in have.
func (f Fault) missing(have []testbed.Capability) []testbed.Capability {
	return slices.DeleteFunc(slices.Clone(f.Needs), func(need testbed.Capability) bool { return slices.Contains(have, need) })
}

// Capable returns nil if env has the capabilities that f needs, else an error that wraps
// ErrNotSupported.
func Capable(f Fault, env testbed.Env) error {
	if missing := f.missing(testbed.CapabilitiesOf(env)); len(missing) > 0 {
		return &Unsupported{Fault: f.Name, Why: NoCapability, Needs: missing[0]}
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

// variants returns the fault's Plans, and enters the fault's name in actions that name no fault.
func (f Fault) variants(w World, r *rand.Rand) []Plan {
	all := f.Plans(w, r)
	for _, p := range all {
		p.of(f)
	}
	return all
}

// sameTopology is the Fault.Topologies of faults that can strike every recipe: it returns the
// topology that the recipe needs.
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
