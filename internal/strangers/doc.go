// Package strangers holds locks as other people write them: on counters, lists, sorted
// sets, transactions and scripts of their own, correct and incorrect. None says how its
// keys are to be read; each only promises what a lock promises (history.Claims). They
// test whether the harness can judge locks that it was never told about.
//
// A stranger that is Right breaks nothing that its commands could have kept. A wrong
// one has the mistake that Doc describes, unknown to its authors.
package strangers
