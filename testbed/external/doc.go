// Package external runs trials on any Redis that the user names, which others may use at the
// same time.
//
// Addresses and a login come in (Options). A testbed of package live goes out, unless the
// servers lack something or others might be harmed. Clients, gate, links and faults are those
// of package live.
//
// The words: a target is one server, with the data to log in; the prefix begins the name of
// every key and channel of the testbed; the guard stands between live's taps and the server,
// and confines every command to names with the prefix and the trial's number.
//
// Faults hit only this side: clients, their clocks, and the links, through proxies on this
// machine. Nothing disturbs the server itself, and no command is sent that could touch the
// keys or channels of others.
package external
