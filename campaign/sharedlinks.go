package campaign

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

// shares says whether clients share their links in topology t. Where nodes elect a primary, clients
// find the primary over links of their own. In the simulation, sharing has no benefit.
func (p *planner) shares(t testbed.Topology) bool {
	return p.config.ShareLinks && p.real && t != testbed.Sentinel && t != testbed.Cluster
}

// able returns the testbed's capabilities in topology t. With shared links, there is no split
// brain.
func (p *planner) able(t testbed.Topology) []testbed.Capability {
	if !p.shares(t) {
		return p.capabilities
	}
	return slices.DeleteFunc(slices.Clone(p.capabilities), func(c testbed.Capability) bool { return c == testbed.CanSplitBrain })
}

// unshared says why the fault cannot strike if clients share their links; nil if it can.
func (p *planner) unshared(f nemesis.Fault, t testbed.Topology) *nemesis.Unsupported {
	if p.shares(t) && slices.Contains(f.Needs, testbed.CanSplitBrain) {
		return &nemesis.Unsupported{Why: nemesis.SharedLinks}
	}
	return nil
}

// hint returns what would make the fault possible on this testbed; "" if that is not known.
func (p *planner) hint(r locks.Recipe, f nemesis.Fault) string {
	hint := p.without[testbed.Topology(r.Topology)]
	for _, need := range f.Needs {
		hint = cmp.Or(hint, p.lacks[need])
	}
	return hint
}
