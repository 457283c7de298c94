// Package live makes worlds of real Redis servers: clients behind a gate, an embedded
// toxiproxy proxy on every link, replication, Sentinels and clusters.
//
// New takes a Provider, which starts servers or knows where they run, and returns a Testbed. A
// command passes the gate at the client's end of the connection, then the link's proxy, then the
// tap in front of the node.
//
// Vocabulary:
//   - A place is where the servers of one trial run.
//   - A guest is a provider whose servers belong to somebody else.
//   - A tap forwards commands to one node, one at a time, so it knows their order.
//   - A node's turn is a lock. The command that the node executes holds the turn; so does a
//     fault that no command may disturb.
//   - An observer looks at a node's keys and reports what changed.
//   - A shard is a master with its replicas.
package live
