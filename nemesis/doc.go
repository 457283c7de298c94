// Package nemesis disturbs trials. In come a World (the shape of a trial and what
// a probe trial of its recipe showed), a fault's name and a seed; out comes a
// Plan, which Run carries out on a testbed and records in the history.
//
// A fault is one way to disturb: one file and one row in the table of faults. A
// plan is data: when, where and whom faults strike. New draws plans from a seed,
// Named enumerates schedules, which are plans with a name. Both aim at spots,
// places in a protocol: "about to send the second command of an acquire". Which
// spots there are is seen in the fault-free probe trial (Points). A line-up is who
// takes part and who of them is struck.
//
// A fault proves that it bit: Hits on the closing entry of a window counts what
// the gate, the network or the node showed, and is 0 if nothing was hit.
package nemesis
