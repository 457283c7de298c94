//go:build race

package mutants

// stride: one mutant in so many is hunted. Under the race detector trials take several
// times as long; scripts/test hunts all of them without it.
const stride = 6
