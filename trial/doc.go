// Package trial runs one trial and judges it.
//
// A Spec comes in: recipe, workload, fault plan, seed and sizes, as plain data. Run
// turns it into clients, a nemesis and a heartbeat on a testbed, and returns the
// evidence. Execute also judges the evidence and stores what is worth keeping in the
// trial's folder. A Result goes out. LoadRecord reads a stored trial's evidence back,
// and Judge judges it again.
//
// The words: a Task is a Spec with the folder for storing it; a Done is the outcome of
// a Task; a Record is the content of a folder; an Outcome sums up a Result; a Flaw is
// an oracle that was violated by one cause. A cell is a recipe under a fault, and has many
// trials; a nemesis.Unsupported says why a cell cannot be tried. The disturbed part of a trial
// (workloads.Options.Duration) is the time for faults; the liveness phase follows it.
package trial
