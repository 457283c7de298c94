// Package history records what happened in a trial, stores it, and reads it back.
//
// A Recorder takes the operations of clients and the events of the nemesis, checks that the history
// is possible, and orders it. Commands and changes of keys come from the testbed. The output is
// Evidence: all three logs of a trial, with the claims of its recipe. The logs are stored as JSON
// Lines; ReadOps and its siblings read them back, Pairs matches invocations with completions, and
// Hash tells whether two runs are the same.
//
// The terms and the JSON keys are Jepsen's. An operation is an invocation that is completed by ok,
// fail or info. An event is an entry of the nemesis with no invocation (EventKind). A window is a
// fault in force: one entry opens it, another closes it. A claim is a promise of a recipe.
package history
