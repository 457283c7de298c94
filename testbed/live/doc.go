// Package live makes worlds of real Redis servers: clients behind a gate, an embedded
// toxiproxy proxy on every link, replication, Sentinels and clusters.
//
// A Provider comes in, which starts servers or knows where they run. A Testbed goes out. A
// command passes the gate at the client's end of the connection, then the link's proxy, then
// the tap in front of the node.
//
// The words: a place is where the servers of one trial run; a guest is a provider whose servers
// belong to somebody else; a tap forwards the commands to one node, one at a time, and so knows
// their order; a node's turn is held by the command that the node executes, or by a fault that
// no command may disturb; an observer looks at a node's keys and tells what changed; a shard is
// the nodes that have one master.
package live
