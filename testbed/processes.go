package testbed

import "time"

// Processes run a trial's clients outside this process, each in one of its own:
// Setup.Processes. The client's steps and connections still pass the gate, where its
// connections are made and forwarded. What the gate does to a client it also does to the
// client's process.
//
// That differs from a client in this process where the operating system does. Timers of a
// frozen process do not fire, but the time counts: when it goes on, its deadlines have
// passed, and Go sees that before it looks for a reply. Messages for it meanwhile wait in
// its socket. The kernel closes the connections of a killed process, after the data that
// it had sent; they do not stay open unanswered.
//
// Methods may be called concurrently. A process that has ended is frozen and
// killed already.
type Processes interface {
	// Freeze stops a client's process and returns when it stands still. After several calls
	// only the last Thaw resumes the process.
	Freeze(client int) error
	// Thaw takes one Freeze back.
	Thaw(client int) error
	// Kill ends a client's process at once and returns when it has ended.
	Kill(client int) error
	// Skew sets by how much the process's wall clock is ahead (behind, if negative).
	Skew(client int, offset time.Duration)
}

// Ways are how a client reaches its nodes, for code that makes the client elsewhere.
type Ways struct {
	// Addrs are those of locks.Client.
	Addrs []string
	// Sentinels, if any, tell where the primary of that name is.
	Sentinels []string
	Primary   string
	// Cluster: the nodes are those of one Redis Cluster.
	Cluster bool
}
