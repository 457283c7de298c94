// Package clientproc runs each client of a trial on real time in a process of its own, the client
// process, so that the operating system can freeze and kill the client.
//
// The trial's process has the gate, the recorder, and the resources that the locks guard. The
// client process has the code under test with its connections, timers and clocks. The client makes
// remote calls (net/rpc) over a pair of pipes. It records an invocation, and awaits the answer,
// before it sends any command; it records a completion after the reply. So entries have the order
// and the times that they would have if the client ran in the trial's process. The client's
// connections lead to a relay of the trial, which forwards them through the gate and the testbed.
// The gate numbers, holds and logs the commands.
//
// A World (the trial's clients, gate and recorder) and the command line of the client program come
// in. Entries of the history go out. The words: the host is the trial's side; a session is the
// client's side; the relay accepts the connections of clients; skew is a client's wall-clock
// offset, which both sides share in memory.
//
// Both sides read one clock: the machine's monotonic one, counted from the trial's start.
package clientproc
