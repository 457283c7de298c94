// Package jepsen reads histories that others recorded and writes ours for them: Jepsen's
// EDN (github.com/jepsen-io/jepsen, "Histories"), and JSON of the same entries with parts
// missing.
//
// In comes a file; out comes a Reading: the operations, and what had to be supposed to
// read them. A plain value is what a test wrote as :value of an acquire; Values says what
// it means. An owner is the client that several processes are, one after the other.
package jepsen
