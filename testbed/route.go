package testbed

// Route tells how a client reaches its nodes, for code that makes the client in another
// process.
type Route struct {
	// Addrs are the addresses by which recipes know the nodes (locks.Client.Addrs).
	Addrs []string
	// Sentinels are the addresses of the Sentinels, if any. Primary is the name that they
	// have for the primary. Nodes are the addresses that they may give for it.
	Sentinels, Nodes []string
	Primary          string
	// Prefix begins the names of all locks (locks.Client.Prefix).
	Prefix string
	// Cluster says that the nodes form one Redis Cluster.
	Cluster bool
}
