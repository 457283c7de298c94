package node

// The node is not part of a cluster. Clients that support clusters use these commands to find
// that out.

// clusterCommands returns the subcommands of CLUSTER. Redis checks a subcommand's name and
// its number of arguments before it refuses the subcommand.
func clusterCommands() []command {
	subs := []command{
		{name: "addslots", arity: -3},
		{name: "addslotsrange", arity: -4},
		{name: "bumpepoch", arity: 2},
		{name: "count-failure-reports", arity: 3},
		{name: "countkeysinslot", arity: 3},
		{name: "delslots", arity: -3},
		{name: "delslotsrange", arity: -4},
		{name: "failover", arity: -2},
		{name: "flushslots", arity: 2},
		{name: "forget", arity: 3},
		{name: "getkeysinslot", arity: 4},
		{name: "help", arity: 2},
		{name: "info", arity: 2},
		{name: "keyslot", arity: 3},
		{name: "links", arity: 2},
		{name: "meet", arity: -4},
		{name: "myid", arity: 2},
		{name: "nodes", arity: 2},
		{name: "replicas", arity: 3},
		{name: "replicate", arity: 3},
		{name: "reset", arity: -2, traits: noScript},
		{name: "saveconfig", arity: 2},
		{name: "set-config-epoch", arity: 3},
		{name: "setslot", arity: -4},
		{name: "shards", arity: 2},
		{name: "slaves", arity: 3},
		{name: "slots", arity: 2},
	}
	for i := range subs {
		subs[i].run = (*Node).noCluster
	}
	return subs
}

func (n *Node) noCluster(*Session, []string) {
	n.fail("ERR This instance has cluster support disabled")
}
