// Package facts reads the evidence of one trial once, for its story and its timeline. In
// comes the evidence; out comes a Reading, which makes no sentences and draws nothing.
//
// An Event is a change of a key on a node. A Span is a time during which such a key
// carried one client's claim. A Window is the time during which a fault was in force. A
// Split is the time during which a second primary served some clients. What the keys were
// is told by package keyspace, and who believed to hold a lock by package checker.
package facts
