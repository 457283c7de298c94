// Package node is a Redis node for the simulation. It uses the data types of miniredis, but
// not miniredis's network, goroutines and clock. The package adds what miniredis lacks or does
// differently from Redis 7.0: expiry by absolute deadlines, scripts on one Lua state, publish
// and subscribe, client tracking, transactions, read-only replicas, snapshots.
//
// A Session takes commands, each with the time at which it runs. It returns replies, and
// messages that answer no command (Push). A Witness receives every change of a key while the
// node serves clients. A node does nothing by itself. The same calls after New or Reset return
// the same bytes.
//
// The words: a session is the node's side of a connection; a snapshot is the data of a node at
// one time; a budget bounds the instructions of a script.
package node
