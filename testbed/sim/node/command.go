package node

import "strings"

// handler runs a command for a session and writes exactly one reply, or one for each
// argument of SUBSCRIBE and similar commands. The command's arity has been checked.
type handler func(n *Node, s *Session, args []string)

// traits are a set of properties of a command. Some are also command flags of Redis, such as readonly.
type traits uint16

const (
	write           traits = 1 << iota
	readonly               // reads keys, which client-side caching then tracks
	noScript               // refused in scripts
	typed                  // run by miniredis
	zeroIsNothing          // the reply 0 means that nothing changed
	overwrites             // replaces the whole key and its expiry
	unordered              // the reply is a set in random order and must be sorted
	whileSubscribed        // allowed to a RESP2 client with subscriptions
	immediate              // runs at once even in a transaction
	random                 // draws from miniredis's generator
)

// command is a Redis command. The node does not support a command that has no run, no subs and
// not the trait typed.
type command struct {
	name              string
	arity             int // including the name; -n means at least n
	traits            traits
	first, last, step int // key positions, as in COMMAND INFO
	numkeys           int // position of the argument that counts the keys; 0 = there is none
	run               handler
	subs              []command // subcommands, such as CLIENT ID
	bySub             map[string]*command
}

func (c *command) is(t traits) bool { return c.traits&t != 0 }

func (c *command) fits(args []string) bool {
	return len(args) == c.arity || c.arity < 0 && len(args) >= -c.arity
}

// keys returns the keys among args; the result may share memory with args.
func (c *command) keys(args []string) []string {
	if c.numkeys > 0 {
		count, ok := parseInt(args[c.numkeys])
		rest := args[c.numkeys+1:]
		if !ok || count < 0 || count > int64(len(rest)) {
			return nil
		}
		return rest[:count]
	}
	if c.first == 0 {
		return nil
	}
	last := c.last
	if last < 0 {
		last += len(args)
	}
	if c.step == 1 {
		return args[c.first : last+1]
	}
	var keys []string
	for i := c.first; i <= last; i += c.step {
		keys = append(keys, args[i])
	}
	return keys
}

// written returns the keys that the command may have changed.
func (c *command) written(args []string) []string {
	switch {
	case c.name == "bitop":
		return args[2:3]
	case c.is(overwrites):
		return args[1:2]
	}
	return c.keys(args)
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

// index returns a table of commands by their lower-case and upper-case names. It fills in bySub,
// and gives each subcommand its full name ("client|id").
func index(list []command) map[string]*command {
	table := make(map[string]*command, 2*len(list))
	for i := range list {
		c := &list[i]
		table[c.name], table[strings.ToUpper(c.name)] = c, c
		for j := range c.subs {
			if c.bySub == nil {
				c.bySub = map[string]*command{}
			}
			sub := &c.subs[j]
			c.bySub[sub.name] = sub
			sub.name = c.name + "|" + sub.name
		}
	}
	return table
}
