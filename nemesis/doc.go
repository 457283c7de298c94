// Package nemesis disturbs trials. It makes a Plan from a World (the shape of a trial and
// the results of a fault-free probe trial), the name of a fault and a seed. Run carries the
// Plan out on a testbed and records it in the history.
//
// A fault is one way to disturb a trial. Each fault has one row in the table of faults and, except
// for the three partitions, its own file. A plan is data: it says when faults strike, where in a
// protocol, and which clients and nodes. New draws plans from a seed. Named enumerates schedules,
// which are plans with a name. Drawn plans and schedules aim at spots: places in a protocol such as
// "about to send the second command of an acquire". The probe trial shows which spots a recipe has
// (Points). A line-up lists the clients that take part in a trial and those that are struck.
//
// A fault must prove that it had an effect. Each action is a window in the history. The field Hits
// in the window's closing entry counts the effects that were seen at clients, on the network or on
// nodes; it is 0 if nothing was hit.
package nemesis
