// Package check judges a history of Lockstorm's, Jepsen's or anybody's for the command
// lockstorm check. Its input is a file or a folder (Load) and the name of a model. Its output
// are verdicts, the Counterexample that shows the most direct harm, a picture (Draw), or the
// same history in another format (Export). Package cli has the flags and the exit codes.
//
// A log has holds, or completions without invocations, as applications write them. Its Doubts
// bound the errors of its times. A violation counts only if it shows under every possible
// error, and a property holds only if it holds under every possible error. A model is a kind
// of lock by which recorded replies are judged.
package check
