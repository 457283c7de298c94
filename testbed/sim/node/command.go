package node

import (
	"strings"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// handler runs a command for a session and writes exactly one reply, or one for each
// argument of SUBSCRIBE and similar commands. The command's arity has been checked.
type handler func(n *Node, s *Session, args []string)

// traits are a set of properties that matter to the node alone. Those that Redis documents are resp.Traits.
type traits uint16

const (
	typed           traits = 1 << iota // run by miniredis
	zeroIsNothing                      // the reply 0 means that nothing changed
	overwrites                         // replaces the whole key and its expiry
	unordered                          // the reply is a set in random order and must be sorted
	whileSubscribed                    // allowed to a RESP2 client with subscriptions
	immediate                          // runs at once even in a transaction
	random                             // draws from miniredis's generator
)

// command is a Redis command. The node does not support a command that has no run, no bySub and
// not the trait typed.
type command struct {
	*resp.Command
	name   string // in small letters; a subcommand's is "client|id"
	traits traits
	run    handler
	bySub  map[string]*command // subcommands, such as CLIENT ID
}

func (c *command) is(t traits) bool { return c.traits&t != 0 }

func (c *command) fits(args []string) bool {
	return len(args) == c.Arity || c.Arity < 0 && len(args) >= -c.Arity
}

// written returns the keys that the command may have changed.
func (c *command) written(args []string) []string {
	switch {
	case c.name == "bitop":
		return args[2:3]
	case c.is(overwrites):
		return args[1:2]
	}
	return resp.Keys(c.Command, args)
}

// lookup finds the command or subcommand that args name, in upper, lower or mixed case. For a
// subcommand, container is its command; otherwise container is nil. If Redis has no such
// command or subcommand, c is nil.
func lookup(args []string) (c, container *command) {
	if c = commands[args[0]]; c == nil {
		if c = commands[strings.ToLower(args[0])]; c == nil {
			return nil, nil
		}
	}
	if c.bySub == nil || len(args) == 1 {
		return c, nil
	}
	return c.bySub[strings.ToLower(args[1])], c
}
