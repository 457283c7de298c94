// Package resp reads and writes what Redis and its clients say to each other: RESP 2
// and 3 (redis.io, "Redis serialization protocol specification").
//
// In come bytes of a connection; out go messages, each whole, the arguments of commands,
// and replies in the compact form in which histories have them. A message is one value of
// either side. A command counts if it is the code's under test and not a library's own, as
// a handshake. Replies says which command a message answers.
package resp
