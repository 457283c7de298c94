// Package process runs trials on redis-server processes that it starts, on this machine.
//
// New uses the redis-server that internal/redisserver finds, and returns a testbed of package live.
// A pause is SIGSTOP, a kill is SIGKILL, and a server's own clock is that of a preloaded library
// (testbed/clockshim). Servers listen on 127.0.0.1. On Linux, each server connects to other
// servers from an address of its own in 127.0.0.0/8.
package process
