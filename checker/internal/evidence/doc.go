// Package evidence prepares the evidence of one trial once for its readers: the oracles of package
// checker and the measures of package progress. The input is history.Evidence. The output is a
// Case, which pairs the operations, tells what clients believed, and replays the commands on the
// keys. Nothing here judges.
//
// The terms are:
//
//   - A hold is one span of time during which a client believed that it held a lock.
//   - A client attends to a lock from a grant until the reply to its release.
//   - A section is the time from an acquire's ok to its release. A touch is one read or write
//     of the resource that the lock guards.
//   - A unit gives one vote of a quorum: it is a node or a key.
package evidence
