// Package external runs trials on any Redis that the user names, which others may use at the
// same time.
//
// New takes addresses and a login (Options), and returns a testbed of package live. It fails if the
// servers are not usable, or if their other users might be harmed. Clients, gate, links and faults
// are those of package live.
//
// Vocabulary:
//   - A target is one server, with the data to log in.
//   - The prefix begins the name of every lock, and so is part of the names of its keys and channels.
//   - A confined user may touch only names of the testbed's family: the server's access control
//     enforces that, not this package. New refuses every other user, unless the server is our own.
//
// Faults hit only this side: clients, their clocks, and the links, through proxies on this machine.
// No fault disturbs the server itself.
package external
