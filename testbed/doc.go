// Package testbed defines the world that a trial needs: clients, Redis nodes, the network
// between them, and the gate on every client connection. Only the packages below testbed/
// know where these come from.
//
// A Setup comes into Testbed.Run, with the body of a trial. The body gets an Env, the running
// world. Commands and changes of keys go out through the functions of the Setup, and the
// returned error says whether the code under test (Breakdown) or the harness failed.
//
// The words: a topology is an arrangement of nodes; a capability is something that faults need
// of a world, an interface of its Env; a step is a part of a client's work, and a point is a
// place in a step at which a fault may wait for the client; an undo ends a fault and counts
// its hits.
package testbed
