package testbed

import "time"

// Processes run a trial's clients elsewhere than in this process, each in one of
// its own: Setup.Processes. What such a client does still passes the gate: its
// connections, which somebody makes for it there and carries on, and its steps. What
// the gate does to a client it then does to the process, too.
//
// That differs from a client in this process where the operating system does.
// Timers of a frozen process do not go off, but the time that it did not see
// counts: its deadlines have passed when it goes on, in Go before it looks
// whether a reply has come. What comes for it meanwhile waits in its socket. The
// connections of a killed process are closed as the kernel does, after what it
// had sent, and do not stay open without an answer.
//
// Methods may be called concurrently. A process that has ended is frozen and
// killed already.
type Processes interface {
	// Freeze stops a client's process and returns when it stands still. Of
	// several the last Thaw lets it go on.
	Freeze(client int) error
	// Thaw takes one Freeze back.
	Thaw(client int) error
	// Kill ends a client's process at once and returns when it has ended.
	Kill(client int) error
	// Skew sets by how much the process's wall clock is ahead (behind, if negative).
	Skew(client int, offset time.Duration)
}

// Ways are how a client reaches its nodes, for whoever makes it elsewhere.
type Ways struct {
	// Addrs are those of locks.Client.
	Addrs []string
	// Sentinels, where there are any, tell where the primary of that name is.
	Sentinels []string
	Primary   string
	// Cluster: the nodes are those of one Redis Cluster.
	Cluster bool
}
