package testbed

import "time"

// Processes run each of a trial's clients in a process of its own (Setup.Processes). The
// gate stays in this process: it controls the clients' steps, and makes and forwards the
// clients' connections. When the gate freezes, resumes, kills or skews a client, it does
// the same to the client's process.
//
// Such clients differ from clients in this process where the operating system matters. The
// timers of a frozen process do not fire, but time goes on. Messages to the process wait in
// its sockets. After the process is resumed, Go notices the deadlines that have passed
// before it reads replies. When a process is killed, the kernel delivers the data that the
// process had sent and closes its connections. The connections of a client that crashes in
// this process stay open and unanswered.
//
// Methods may be called concurrently. On a process that has ended, Freeze and Kill succeed
// at once.
type Processes interface {
	// Freeze stops a client's process and returns when it has stopped. After n calls of Freeze, the
	// nth call of Thaw resumes the process.
	Freeze(client int) error
	// Thaw undoes one Freeze.
	Thaw(client int) error
	// Kill kills a client's process and returns when the process has ended.
	Kill(client int) error
	// Skew sets the lead of the process's wall clock; it lags if offset is negative.
	Skew(client int, offset time.Duration)
}

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
