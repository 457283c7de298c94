package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file finds when clients read the nodes' clocks, by which some locks count their leases.

// readTime returns when the sender of the command at place pos had last asked that node for
// the time: in the same operation or, outside of operations, within the last lease. ok is false
// if it did not, or if the node's clock never jumped, so that it does not matter.
func (rp *replay) readTime(pos int, node string) (at time.Duration, ok bool) {
	if pos < 0 || len(rp.nodeClocks[node]) == 0 {
		return 0, false
	}
	c := rp.Commands[pos]
	// Outside of operations, a client that asked long ago has no use for that answer any more.
	oldest := time.Duration(0)
	if c.Op < 0 {
		oldest = c.Sent - rp.Claims.TTL
	}
	asked := rp.timesAsked()[asker{c.Client, c.Op, node}]
	i, _ := slices.BinarySearch(asked, pos)
	for _, earlier := range slices.Backward(asked[:i]) {
		if ran := rp.Ran(earlier); ran.Hi < c.Sent {
			return ran.Lo, ran.Lo >= oldest
		}
	}
	return 0, false
}

// asker names a client, one of its operations, -1 for none, and the node that it asks.
type asker struct {
	client, op int
	node       string
}

// timesAsked returns the places of the commands that asked a node for the time, in order.
func (rp *replay) timesAsked() map[asker][]int {
	if rp.times == nil {
		rp.times = map[asker][]int{}
		for pos, c := range rp.Commands {
			if c.Ran() && keyspace.AsksTime([]history.Command{c}) {
				by := asker{c.Client, c.Op, c.Node}
				rp.times[by] = append(rp.times[by], pos)
			}
		}
	}
	return rp.times
}
