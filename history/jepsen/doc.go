// Package jepsen reads histories recorded by others and exports ours: Jepsen's EDN
// (github.com/jepsen-io/jepsen, "Histories"), and JSON of the same entries with parts
// missing.
//
// Read turns a file into a Reading: the operations, and the assumptions made to read
// them. A plain value is a :value, other than a map or a tuple, that a test wrote for an
// acquire; Values says what it means. An owner is a client; several processes may act for
// it, one after another.
package jepsen
