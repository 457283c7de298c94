// Package gate stands at the clients' ends of all connections of a trial, on every
// testbed: it numbers and logs the commands and replies that pass, and holds, crashes or
// tells at exact points of a client's protocol.
//
// Its inputs are the connections that a testbed makes and the clients' steps; its outputs
// are history.Commands and the calls at points. A point is a place in a step before or
// after the nth command. A record is a command whose outcome is still open. The gate is
// in this process, also for clients that run elsewhere.
package gate
