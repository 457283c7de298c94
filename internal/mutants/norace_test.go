//go:build !race

package mutants

// stride: one mutant in so many is hunted.
const stride = 1
