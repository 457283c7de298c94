package testbed

import "github.com/lockstorm/lockstorm/history"

// Sentinels is the number of Sentinels in the topology Sentinel: s0, s1, s2.
const Sentinels = 3

// Elections is implemented by worlds whose servers elect primaries by themselves. In such a
// world Nodes.Promote only waits for the election. A new primary may serve some clients while
// the old primary, frozen or cut off, still serves others.
type Elections interface {
	// OnElection sets the function that records elections. Record gets all events since the
	// world's beginning, each before the event takes effect:
	//   - history.FSplit: a client is about to reach a new primary while the old one still
	//     serves;
	//   - history.FPromote: only this node serves as a primary from now on;
	//   - history.FElection: the old primary is about to be replaced, and no fault explains
	//     that.
	// A fault explains the elections that begin while it is in force, or afterwards within
	// the time that an election may take. Calls of record do not overlap. OnElection may be
	// called once.
	OnElection(record func(history.Op))
}
