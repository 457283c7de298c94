// Package sim runs trials in a deterministic simulation: no Redis, no network, no waiting.
//
// Testbed.Run takes a testbed.Setup and a body. The setup's functions receive commands and
// changes of keys. A trial is a pure function of its setup and body: its history and commands
// are the same on any machine.
//
// The words: a bubble of testing/synctest has a clock that advances when all its goroutines
// wait; a link has two pipes, one for each direction, on which packets travel; an event is the
// arrival of a packet, or a call, at an instant of its own; a turn makes a goroutine wait for
// an instant of its own, so that goroutines that wake together do not race.
//
// A trial's body, its recipe and its Redis client run unmodified in a bubble. Connections are
// in memory. Packets arrive in virtual time; a packet's latency is a hash of the seed and the
// packet's identity. Redis nodes are based on miniredis (package node). A single goroutine
// delivers packets and runs the nodes' commands.
//
// Limits: a bubble has one clock, so clock skew affects only code that uses the clock of
// locks.Client. A pause stops a client's connections and steps, but not its timers.
package sim
