// Package strangers holds locks as other people write them: on counters, lists,
// sorted sets, transactions and scripts of their own, right ones and wrong ones.
// None says how its keys are to be read; each only promises what a lock promises
// (history.Claims). They are there to see whether the harness judges what it was
// never told about.
//
// A stranger that is Right breaks nothing that its commands could have kept. A
// wrong one has the mistake that Doc tells, and its authors know nothing of it.
package strangers
