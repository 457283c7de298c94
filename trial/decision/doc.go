// Package decision finds when the violation of a trial became certain.
//
// The trial is cut at an instant: up to there it runs as it was recorded, then every fault
// ends, no other begins, and clients draw new decisions. Each such run is a continuation.
// Before the violation was certain, some continuations avert it; afterwards none does.
//
// Cut is the pure part: it makes the spec of a continuation. Run runs continuations from
// many instants.
package decision
