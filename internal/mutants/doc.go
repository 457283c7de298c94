// Package mutants holds deliberately broken variants of the good recipes, each
// with one mistake of the kind that people make. They are there to be caught: a
// mutant that no named schedule tells from the recipe it was made of would be a
// blind spot of the harness.
//
// The mutants were written down before any of them was run.
package mutants
