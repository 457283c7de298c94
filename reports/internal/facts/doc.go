// Package facts reads the evidence of one trial once, for its story and its timeline. Its
// result, a Reading, is plain data without sentences or drawings.
//
// An Event is a change of a key on a node. A Span is a time during which a key carried one
// client's grant (package keyspace, which analyses the keys). A Window is the time during which a
// fault was in force. A Split is the time during which a second primary served some clients.
// Package checker finds the holds: when clients believed they held a lock.
package facts
