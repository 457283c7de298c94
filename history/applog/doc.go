// Package applog reads what applications log about their locks: CSV or JSON records with
// names for clients and locks, and RFC 3339 times.
//
// Three kinds of logs are told apart by their fields. Entries are invocations and
// completions, as in any history. Completions lack the invocations: a log of successes is
// one of them. Holds have who held which lock, from when to when. Read returns a Log.
// Log.Readings turns completions and holds into two histories: one with what is certain,
// given the error of the clocks, and one with all that is possible.
package applog
