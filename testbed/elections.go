package testbed

import "github.com/lockstorm/lockstorm/history"

// Sentinels is the number of Sentinels in the topology Sentinel: s0, s1, s2.
const Sentinels = 3

// Elections is implemented by worlds whose servers elect primaries by themselves;
// Nodes.Promote then only waits for the election. A new primary may serve some clients
// while the old one, frozen or cut off, still serves others.
type Elections interface {
	// OnElection sets the function that records elections. It gets all events since the
	// world's beginning, each before the event takes effect: history.FSplit of a client
	// that is about to reach a new primary while the old one still serves; history.FPromote
	// of a node when no other node serves as a primary any more; history.FElection of the
	// old primary, before an election that no fault explains. A fault explains elections
	// while it is in force, and afterwards for as long as an election that it caused may
	// take. Calls of record do not overlap. OnElection may be called once.
	OnElection(record func(history.Op))
}
