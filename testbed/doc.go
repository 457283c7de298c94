// Package testbed defines the world that a trial needs: clients, Redis nodes, the network
// between them, and the gate on every client connection. Only the packages below testbed/
// know how nodes and network are made.
//
// Testbed.Run takes a Setup and the body of a trial. It passes the body an Env, the running
// world. The functions of the Setup receive commands and changes of keys. The returned error
// says whether the code under test (Breakdown) or the harness failed.
//
// The words: a topology is an arrangement of nodes; a capability is an interface of the Env
// that faults need; a step is a part of a client's work; a point is a place in a step at
// which a fault may wait for the client; an undo ends a fault and counts its hits.
package testbed
