package testbed

import "github.com/lockstorm/lockstorm/history"

// Sentinels is how many there are in Sentinel's topology: s0, s1, s2.
const Sentinels = 3

// Elections is implemented by worlds whose nodes get a new primary without being
// told so by Nodes.Promote: it waits there until that has come. A new primary may
// serve clients while the old one, frozen or cut off, still serves others.
type Elections interface {
	// OnElection says who records what the history must tell of it, from the
	// world's beginning, each before it takes effect: history.FSplit of a client
	// that is about to reach a new primary beside the old one, history.FPromote of
	// a node when no other serves as a primary any more, and before an election
	// that no fault explains history.FElection of the old primary. A fault explains
	// elections while it is in force and as long after as one that it led to may
	// take. Calls do not overlap. It may be set once.
	OnElection(record func(history.Op))
}
