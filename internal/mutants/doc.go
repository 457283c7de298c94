// Package mutants holds deliberately broken variants of the good recipes, each with one
// typical human mistake. They must be caught: if no named schedule tells a mutant from
// its recipe, the harness has a blind spot.
//
// The mutants were written down before any of them was run.
package mutants
