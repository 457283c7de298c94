// Package jepsen reads histories that other harnesses recorded, and exports Lockstorm's. The format
// is Jepsen's EDN (github.com/jepsen-io/jepsen, "Histories"). The package also reads the same
// entries as JSON, even without indices, times or clients, and logs of holds (package applog).
//
// Read turns a file into a Reading: the operations, and the assumptions made to read
// them. A plain value is a :value, other than a map or a tuple, that a test wrote for an
// acquire; Values says what it means. An owner is a client; several processes may act for
// it, one after another.
package jepsen
