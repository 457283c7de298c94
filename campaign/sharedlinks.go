package campaign

import (
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

// stuck is why clients that share their links cannot be put on two sides.
const stuck = "the clients share their links (--share-links), and cannot be moved one by one"

// shares says whether the clients of that topology share their links. Where nodes
// elect a primary, clients find it by themselves, over links of their own; in the
// simulation nothing is gained by it.
func (p *planner) shares(t testbed.Topology) bool {
	return p.config.ShareLinks && p.real && t != testbed.Sentinel && t != testbed.Cluster
}

// able is what can be disturbed in worlds of that topology.
func (p *planner) able(t testbed.Topology) []testbed.Capability {
	if !p.shares(t) {
		return p.capabilities
	}
	return slices.DeleteFunc(slices.Clone(p.capabilities), func(c testbed.Capability) bool { return c == testbed.CanSplitBrain })
}

// unshared says why the fault has nothing to strike where clients share their links,
// "" if it has.
func (p *planner) unshared(f nemesis.Fault, t testbed.Topology) string {
	if p.shares(t) && slices.Contains(f.Needs, testbed.CanSplitBrain) {
		return stuck
	}
	return ""
}

// unsupported says why the testbed does not support the fault, and how it could if
// it knows.
func (p *planner) unsupported(r locks.Recipe, f nemesis.Fault, err error) string {
	if why := p.without[testbed.Topology(r.Topology)]; why != "" {
		return fmt.Sprintf("%v: %s", err, why)
	}
	for _, need := range f.Needs {
		if why := p.lacks[need]; why != "" {
			return fmt.Sprintf("%v: %s", err, why)
		}
	}
	return err.Error()
}
