// Package resp reads and writes the messages between Redis and its clients: RESP 2 and 3
// (redis.io, "Redis serialization protocol specification").
//
// It parses the bytes of a connection into messages, commands into arguments, and replies
// into the compact form of histories. A message is one RESP value, from either side. A
// command counts if the tested code sends it; a library's handshakes do not count. Replies
// matches messages to the commands that they answer.
package resp
