package nemesis

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// Replicas that replace a primary, for faults that promote one.

// heirNode is the replica that is promoted, the first one.
const heirNode = "n1"

// clusterHeirNode is the replica of the master that has the first lock's slot.
const clusterHeirNode = "n3"

// electing is an upper limit for most elections: a second until the nodes consider the
// primary dead, and about as long until they have promoted another one.
const electing = 3 * time.Second

// elects reports whether Sentinels elect the world's primary.
func (w World) elects() bool { return w.Topology == testbed.Sentinel }

// unreplicated returns why a fault that needs a replica cannot strike; zero if it can.
func unreplicated(w World) Unsupported {
	if w.Topology != testbed.Replicated && !w.elects() {
		return Unsupported{Why: NoReplica, Topology: w.Topology}
	}
	return Unsupported{}
}

// withReplicas is the Topologies of faults that need a replica: independent nodes have
// none.
func withReplicas(t locks.Topology) []testbed.Topology {
	if t != locks.Single && t != locks.Replicated {
		return nil
	}
	return []testbed.Topology{testbed.Replicated}
}

// primary returns the node that the action's heir will replace.
func (s *injection) primary() (string, error) {
	list, heir := s.env.(testbed.Nodes).List(), s.action.Nodes[0]
	if len(list) == testbed.Masters && heir == clusterHeirNode {
		list = list[:1] // the replica's master
	}
	if len(list) != 1 || list[0] == heir {
		return "", fmt.Errorf("promote %s: clients use %v, expected one other node", heir, list)
	}
	return list[0], nil
}

// differences returns the fates of keys that only the old primary or only the new one has,
// which was promoted at the given time. N excludes keys that had expired.
func (s *injection) differences(before, after snapshot, promoted time.Duration) (n int, fates []history.KeyFate) {
	var expired []history.KeyFate
	old, heir := before.all(), after.all()
	fate := func(k history.KeyState, f history.Fate) history.KeyFate {
		return history.KeyFate{Node: s.action.Nodes[0], Key: history.Bytes(k.Key), Fate: f}
	}
	for _, k := range old {
		switch {
		case holds(heir, k):
		case before.expired(k, after):
			expired = append(expired, fate(k, history.FateExpired))
		default:
			fates = append(fates, fate(k, history.FateLost))
		}
	}
	cameBack := s.cameBack(before, promoted, after)
	for _, k := range heir {
		known := slices.ContainsFunc(old, func(o history.KeyState) bool { return o.Key == k.Key })
		if !known && cameBack(k) {
			fates = append(fates, fate(k, history.FateRevived))
		}
	}
	return len(fates), append(fates, expired...)
}
