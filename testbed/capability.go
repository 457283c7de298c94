package testbed

import "slices"

// Capability names an interface of a running world (Env) that faults need: "network" stands for
// Network.
type Capability string

// Capabilities. The table capabilities lists each capability's interface.
const (
	CanNetwork    Capability = "network"
	CanNodes      Capability = "nodes"
	CanClocks     Capability = "clocks"
	CanClients    Capability = "clients"
	CanNodeClocks Capability = "node-clocks"
	CanMemory     Capability = "memory"
	CanSplitBrain Capability = "split-brain"
	CanSlots      Capability = "slots"
)

// row is one row of the table capabilities.
type row struct {
	name Capability
	// of reports whether the world implements the capability's interface.
	of func(Env) bool
	// in lists the topologies whose worlds can have the capability; nil = all.
	in []Topology
}

var capabilities = []row{
	{CanNetwork, implements[Network], nil},
	{CanNodes, implements[Nodes], nil},
	{CanClocks, implements[Clocks], nil},
	{CanClients, implements[Clients], nil},
	{CanNodeClocks, implements[NodeClocks], nil},
	{CanMemory, implements[Memory], nil},
	// Not in a Redis Cluster: a cluster itself ends a conflict of two masters over a slot.
	{CanSplitBrain, implements[SplitBrain], []Topology{Single, Replicated, Independent, Sentinel}},
	{CanSlots, implements[Slots], []Topology{Cluster}},
}

func implements[C any](e Env) bool {
	_, ok := e.(C)
	return ok
}

// CapabilitiesOf returns the capabilities whose interfaces the running world implements, in
// the order of the table capabilities.
func CapabilitiesOf(e Env) (have []Capability) {
	for _, c := range capabilities {
		if c.of(e) {
			have = append(have, c.name)
		}
	}
	return have
}

// In reports whether worlds of the topology can have the capability. A testbed may still lack it.
func (c Capability) In(t Topology) bool {
	i := slices.IndexFunc(capabilities, func(r row) bool { return r.name == c })
	return i >= 0 && (capabilities[i].in == nil || slices.Contains(capabilities[i].in, t))
}
