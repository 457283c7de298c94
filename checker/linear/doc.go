// Package linear decides which orders of a lock's operations are possible. The inputs are
// the operations with their replies (Operation), the times during which clients believed
// that they held the lock (Hold for the sweep, Span for porcupine), fences (Grant,
// Acceptance), and a Model or claims. The result is one Answer per lock: Legal, Illegal or
// Undecided. Check also returns the reason for a doubt and the minimal conflict.
//
// A model is a kind of lock; its spec says which operations are legal in each state. A
// chunk is a run of spans that can be judged alone. A pool holds the operations that were
// invoked and may still take effect. A conflict is a set of operations that cannot all
// have happened.
package linear
