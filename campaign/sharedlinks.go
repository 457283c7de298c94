package campaign

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
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
func (p *planner) unshared(f nemesis.Fault, t testbed.Topology) *trial.Lack {
	if p.shares(t) && slices.Contains(f.Needs, testbed.CanSplitBrain) {
		return &trial.Lack{What: trial.LackOfLinks}
	}
	return nil
}

// unsupported says why the testbed does not support the fault and, if known, what would
// make it possible.
func (p *planner) unsupported(r locks.Recipe, f nemesis.Fault, err error) *trial.Lack {
	lack := trial.NewLack(err)
	if lack.Fault == nil {
		return lack
	}
	hint := p.without[testbed.Topology(r.Topology)]
	for _, need := range f.Needs {
		hint = cmp.Or(hint, p.lacks[need])
	}
	lack.Fault.Hint = hint
	return lack
}
