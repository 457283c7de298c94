package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// ofClusters are the subcommands of CLUSTER.
func ofClusters() []string {
	return slices.DeleteFunc(node.CommandNames(), func(name string) bool { return !strings.HasPrefix(name, "CLUSTER ") })
}

// A client may ask any node whether it is one of a cluster, from a script or in a
// transaction, too.
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
