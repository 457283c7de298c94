package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// ofClusters returns the subcommands of CLUSTER that the node knows.
func ofClusters() []string {
	return slices.DeleteFunc(node.CommandNames(), func(name string) bool { return !strings.HasPrefix(name, "CLUSTER ") })
}

// Clients use these commands to find out whether a node belongs to a cluster. The node must
// refuse the commands as Redis does, also in scripts and transactions.
func TestANodeWithoutAClusterRefusesAsRedisDoes(t *testing.T) {
	var steps []step
	for _, name := range append(ofClusters(), "CLUSTER", "CLUSTER NOSUCH", "READONLY", "READWRITE", "ASKING") {
		args := strings.Fields(name)
		for range 5 {
			steps = append(steps, calls(args)...)
			script := "return redis.pcall(unpack(ARGV))"
			steps = append(steps, calls(append([]string{"EVAL", script, "0"}, args...))...)
			args = append(slices.Clone(args), "1")
		}
	}
	steps = append(steps, calls(
		[]string{"MULTI"}, []string{"CLUSTER", "INFO"}, []string{"READONLY"}, []string{"EXEC"},
		[]string{"MULTI"}, []string{"cluster", "nosuch"}, []string{"EXEC"},
		[]string{"SUBSCRIBE", "c1"}, []string{"CLUSTER", "INFO"},
	)...)
	runEach(t, newDuel(t), newCoverage(), steps)
}
