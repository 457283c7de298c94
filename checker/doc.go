// Package checker judges a trial: it derives one verdict per oracle from the trial's
// history, its wire evidence and the recipe's claims, and from nothing else.
//
// Exclusion is decided twice, by a sweep over believed holds and by porcupine on models of
// locks: see package linear. The two share only the pairing of operations. If they
// disagree, the checker itself is wrong, and Judge reports that with ErrDisagree.
//
// Everything here is a pure function: judging a stored trial again gives the same
// verdicts.
package checker
