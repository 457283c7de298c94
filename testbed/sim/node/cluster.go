package node

// The node is not part of a cluster. Clients that support clusters use these commands to find
// that out.

// noCluster runs READONLY and the like, and the subcommands of CLUSTER. Redis checks a subcommand's name and
// its number of arguments before it refuses the subcommand.
func (n *Node) noCluster(*Session, []string) {
	n.fail("ERR This instance has cluster support disabled")
}
