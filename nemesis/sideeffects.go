package nemesis

import "github.com/lockstorm/lockstorm/testbed"

// provoked are the faults that others bring about where nodes elect a primary: one
// that freezes for longer than the others wait is replaced, and when it goes on
// there may be two.
var provoked = map[string][]string{nodePause.Name: {failover.Name, splitBrain.Name}}

// Provoked names the faults that the one of that name may bring about in a topology,
// besides what it does itself.
func Provoked(fault string, t testbed.Topology) []string {
	if t != testbed.Sentinel && t != testbed.Cluster {
		return nil
	}
	return provoked[fault]
}
