// Package progress measures how a trial went for the clients of a lock. The input is the evidence
// of the trial, or the case that package checker has prepared from it. The output is Measures, and
// the Waiting around a fault. Nothing here is a verdict.
//
// The terms are:
//
//   - A wait is the time for which a client asked for a lock, through all failed attempts.
//   - A bypass is a grant to another client during a wait.
//   - An orphan is a key that stands while no living client attends to its lock.
//   - A leftover is a key that an attempt left behind although its client knows of no success.
package progress
