// Package resp reads and writes the messages between Redis and its clients: RESP 2 and 3
// (redis.io, "Redis serialization protocol specification").
//
// It turns the bytes of a connection into whole messages, the arguments of commands, and
// replies in the compact form of histories. A message is one value of either side. A
// command counts if it is the tested code's own, unlike a library's handshakes. Replies
// says which command a message answers.
package resp
