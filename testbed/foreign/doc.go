// Package foreign makes recipes of locks that are written in any language. Each client of a trial is a
// child process that runs the lock alone: it reads requests and writes answers, one JSON object a line,
// on its standard input and output, and connects to the nodes that LOCKSTORM_ADDRS names.
//
// In a bubble of testing/synctest (the simulation) the child runs in virtual time: a preloaded library
// sends the child's waits, connections and sent bytes to a driver goroutine in the bubble, which answers
// each. While the child runs, the driver reads a real socket. That is no durable wait, so the bubble's
// clock stands still. Elsewhere the child runs in real time, and its connections are forwarded by the
// dialer of its client, which goes through the gate.
//
// A child of Lockstorm's own program serves a recipe in Go (StartOwn, Serve), in real time. It speaks the same
// protocol, with additions that carry the lock's own leases, errors, contexts and panics, and the stalls of its
// process.
package foreign
