// Package look reads all keys of a Redis node at one instant, with their values and
// expiries, without changing them.
//
// A connection that is ready for commands comes in, a Result goes out.
//
// The words: a look is one reading of all keys; likely keys are those that the caller expects
// there, which saves a round trip; a look that ends with ErrNotNow may succeed later.
package look
