// Package check judges a history by Lockstorm, Jepsen or any other program, for the command
// lockstorm check. Its input is a file or a folder (Load) and the name of a model. It returns
// verdicts, the most informative finding (Counterexample), a picture (Draw), or the same history in
// another format (Export). Package cli has the flags and the exit codes.
//
// A log of holds is a record as applications write it, with a bound on the error of its clocks. A
// violation counts only if it shows under every possible error, and a property holds only if it holds
// under every possible error. A model is a kind of lock. The oracle linearizable compares recorded
// replies with the model's replies.
package check
