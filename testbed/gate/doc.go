// Package gate observes and controls the clients' ends of all connections of a trial, on
// every testbed: it numbers and logs commands and replies, and can pause or crash a client,
// or call a function, at exact points of the client's protocol.
//
// Its inputs are the connections that a testbed makes and the clients' steps; its outputs are
// history.Commands and the calls at points. A point is a place in a step: the beginning of the
// step, or a moment of its nth command. A record is the gate's entry for one command that was sent.
// If a client's code runs in another process, the client's connections are forwarded through the gate.
package gate
