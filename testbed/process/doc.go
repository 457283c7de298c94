// Package process runs trials on redis-server processes that it starts, on this machine.
//
// A redis-server that internal/redisserver finds comes in; a testbed of package live goes out.
// A pause is SIGSTOP, a kill is SIGKILL, and a server's own clock is that of a preloaded
// library (internal/clockshim). Servers of one trial are on 127.0.0.0/8, nodes of a cluster
// each at an address of their own.
package process
