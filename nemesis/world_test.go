package nemesis

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

const testTTL = time.Second

var fiveNodes = []string{"n0", "n1", "n2", "n3", "n4"}

// commands is the number of commands that a recipe's acquire and release send to each node.
type commands struct{ acquire, release int }

// Two protocols: SET NX PX with a compare-and-delete script, and a lock whose release sends GET and
// DEL.
var (
	setNXPX = commands{1, 1}
	getDel  = commands{1, 2}
)

// worldOf returns a campaign's default world for a recipe that sends these commands, with the
// points that a probe trial of the recipe shows. The recipe's keys live for a lease.
func worldOf(sends commands, topology testbed.Topology) World {
	w := World{
		Clients: 3, Nodes: []string{"n0"}, Topology: topology,
		TTL: testTTL, Hold: testTTL / 10, Retry: testTTL / 40, Duration: 5 * testTTL,
		CommandTimeout: testTTL / 2, Sight: Sight{KeyLife: testTTL}, Capabilities: everything,
		Claims: history.Claims{TTL: testTTL, Recovery: testTTL, Quorum: 1},
	}
	if topology == testbed.Independent {
		w.Nodes, w.Claims.Quorum = fiveNodes, 3
	}
	step := func(name string, n int) {
		for _, node := range w.Nodes {
			for i := range n {
				for _, when := range whens {
					w.Points = append(w.Points, testbed.Point{Client: history.NoClient, Step: name, Node: node, N: i + 1, When: when})
				}
			}
		}
	}
	step(testbed.StepAcquire, sends.acquire)
	step(testbed.StepRelease, sends.release)
	return w
}
