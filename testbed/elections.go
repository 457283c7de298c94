package testbed

import "github.com/lockstorm/lockstorm/history"

// Sentinels is how many there are in Sentinel's topology: s0, s1, s2.
const Sentinels = 3

// Elections is implemented by worlds that elect primaries by themselves; Nodes.Promote
// then only waits for the election. A new primary may serve clients while the old one,
// frozen or cut off, still serves others.
type Elections interface {
	// OnElection sets the function that records elections, from the world's beginning, each
	// entry before it takes effect: history.FSplit of a client that is about to reach a new
	// primary beside the old one; history.FPromote of a node when no other serves as a
	// primary any more; history.FElection of the old primary, before an election that no
	// fault explains. A fault explains elections while it is in force, and then as long as
	// one that it caused may take. Calls do not overlap. It may be set once.
	OnElection(record func(history.Op))
}
