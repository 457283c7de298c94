// Package story tells one trial in plain words, for an engineer who runs a service and did not see
// the trial. Its input is a Trial: the evidence, the verdicts, and the lock's known flaws. Its
// output is a Story (numbered steps, the assumption that broke, and what would have prevented the
// harm) and a Log (the operations and commands that matter, in order).
//
// A Finding is one finding of an oracle. The Focus is the finding that the story is about, with
// the time around it. The cast are the clients in the story. A Window is the time during which a
// fault was in force. The package depends on no campaign, recipe or file.
package story
