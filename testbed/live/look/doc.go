// Package look reads all keys of a Redis node at one instant, with their values and
// expiries, without changing them.
//
// New takes a connection that is ready for commands; Look returns a Result.
//
// Vocabulary: A look is one reading of all keys. Likely keys are keys that the caller expects on
// the node; a good guess saves a round trip. A look that ends with ErrNotNow may succeed later.
package look
