// Package story tells one trial in plain words, for somebody who runs a service and was
// not there. In comes a Trial: its evidence, what the oracles found, and the flaws that
// the lock is known to have. Out come a Telling, which is numbered steps with the
// assumption that broke and what would have prevented the harm, and Entries, the
// operations and commands that matter, in order.
//
// A Finding is what one oracle found. The Focus is the finding that is told, and the time
// around it. Its cast are the clients that take part in it. A Window is the time during
// which a fault was in force. The package reads nothing but values: it knows no campaign,
// no recipe and no file.
package story
