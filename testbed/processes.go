package testbed

import "time"

// Processes run each of a trial's clients in a process of its own (Setup.Processes). The
// gate stays in this process: the client's steps pass it, and it makes and forwards the
// client's connections. When the gate freezes, resumes, kills or skews a client, it does
// the same to the client's process.
//
// Such clients differ from clients in this process where the operating system matters. The
// timers of a frozen process do not fire, but its time goes on: when the process is
// resumed, its deadlines have passed, and Go notices that before it looks for a reply.
// Meanwhile messages to the process wait in its socket. When a process is killed, the
// kernel delivers the data that it had sent and closes its connections; they do not stay
// open unanswered.
//
// Methods may be called concurrently. On a process that has ended, Freeze and Kill succeed
// at once.
type Processes interface {
	// Freeze stops a client's process and returns when it has stopped. After several calls,
	// only the last Thaw resumes the process.
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
	// Addrs is locks.Client.Addrs.
	Addrs []string
	// Sentinels are the addresses of the Sentinels, if any. They know the primary as
	// Primary.
	Sentinels []string
	Primary   string
	// Cluster: the nodes are those of one Redis Cluster.
	Cluster bool
}
