// Package workloads defines the work of clients. A client acquires a lock, touches the resource
// that the lock guards, releases the lock and rests, and records each step as an operation.
//
// A World is the input: the clients of a testbed, their locks, a recorder, the resources and the
// Options. Workload.Body does the work of all clients, Workload.Client the work of one client,
// until the liveness phase is over. The output is the operations, which go to the recorder.
//
// Vocabulary: a section lasts from a client's first acquire to its last release, and has the
// client's decisions as data. A touch is a read or a write of the resource. Overrun is the share of
// sections that outlast their lease. The liveness phase follows the last fault: each client then
// takes each lock once more. Its grace is the time that the clients have for that.
//
// Clients are careful, like a good service, unless Options.Trusting is set: before each touch they
// check the lease's deadline and Lost, and stop if the lease has ended. A fault can still hit
// between check and touch. A loss that the lock reports while its holder waits in another call is
// recorded at once.
package workloads
