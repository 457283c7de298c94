// Package linear decides which orders of a lock's operations are possible. In go
// values: operations as they were answered (Operation), the times for which clients
// believed that they held the lock (Hold for the sweep, Span for porcupine), fences
// (Grant, Acceptance), and a Model or claims. Out comes one Answer per lock: Legal,
// Illegal or Undecided; from Check also the reason of a doubt and the minimal conflict.
//
// A model is a kind of lock: its states, and what is legal in each. A chunk is a run
// of spans that is judged alone. A pool holds the operations that perhaps take effect
// yet. A conflict is a set of operations that cannot all have happened.
package linear
