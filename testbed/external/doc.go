// Package external runs trials on any Redis that the user names, which others may use at the
// same time.
//
// New takes addresses and a login (Options), and returns a testbed of package live. It fails if the
// servers are not usable, or if their other users might be harmed. Clients, gate, links and faults
// are those of package live.
//
// Vocabulary:
//   - A target is one server, with the data to log in.
//   - The prefix begins the name of every key and channel of the testbed.
//   - The guard stands between live's taps and the server. It confines every command to names
//     with the prefix and the trial's number.
//
// Faults hit only this side: clients, their clocks, and the links, through proxies on this machine.
// No fault disturbs the server itself, and no command is sent that could touch other users' keys or
// channels.
package external
