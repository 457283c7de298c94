// Package applog reads what applications log about their locks: CSV or JSON records with
// names for clients and locks, and RFC 3339 times.
//
// There are three kinds of logs, which differ in their fields. Entries are invocations and
// completions, as in any history. Completions have no invocations; a log of successes only is of
// this kind. Holds state which client held which lock, from when to when. Read returns a Log.
// Log.Readings turns completions and holds into two histories: one with the holds that are certain
// in spite of clock errors, and one with all holds that are possible.
package applog
