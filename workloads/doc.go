// Package workloads defines the work of clients: they acquire a lock, touch the resource that
// it guards, release the lock and rest, and record each step as an operation.
//
// A World comes in: the clients of a testbed, their locks, a recorder, the resources and the
// Options. Workload.Body does the work of all clients, Workload.Client that of one, until the
// time for it is over. Operations go out, through the recorder.
//
// The words: a section is the time between grant and release, with the client's decisions as
// data; a touch is a read or a write of the resource; overrun is the share of sections that
// outlast their lease; the liveness phase follows the last fault, and in it each client takes
// each lock once more.
//
// Clients are careful, like a good service: before each touch they check the lease's
// deadline and Lost, and stop if the lease has ended. A fault can still hit between check
// and touch. A loss that the lock reports while its holder waits in another call is recorded
// at once.
package workloads
