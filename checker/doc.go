// Package checker judges a trial: from its history, its wire evidence and the
// recipe's claims, and from nothing else, to one verdict per oracle.
//
// Exclusion is decided twice, by a sweep over believed holds and by porcupine
// on models of locks: see package linear. The two share the pairing of operations
// and nothing else; where they differ, the checker itself is wrong and Judge says so
// with ErrDisagree.
//
// Everything here is a pure function: a stored trial can be judged again at
// will and gives the same verdicts.
package checker
