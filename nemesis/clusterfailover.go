package nemesis

import (
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Forced is how an operator of a cluster has a replica elected while its master
// lives, which hears of it and steps down (CLUSTER FAILOVER FORCE).
const Forced Loss = "forced"

// lostMasters are failovers that a cluster decides on by itself. It takes longer than
// leases of a second last, so that what is lost is seldom missed.
func (w World) lostMasters() []move {
	var moves []move
	for _, m := range []struct {
		loss Loss
		idea string
	}{
		{Killed, "the master dies while the lock is held, the replica knows of no grant"},
		{Frozen, "the master freezes while the lock is held, and steps down when it goes on"},
	} {
		moves = append(moves, move{Action: Action{
			Fault: "failover", Idea: m.idea, Client: history.NoClient, Nodes: []string{clusterHeirNode}, Loss: m.loss,
			Point: w.step(testbed.StepRest), Until: w.step(testbed.StepHold), Limit: w.TTL,
		}})
	}
	return moves
}
