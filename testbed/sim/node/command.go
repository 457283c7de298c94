package node

import "strings"

// handler runs a command, whose arity has been checked, for a session, and writes exactly
// one reply (SUBSCRIBE and its like: one for each argument).
type handler func(n *Node, s *Session, args []string)

// traits of a command, where they are not Redis's own flags.
type traits uint16

const (
	write           traits = 1 << iota
	readonly               // read by key: what tracking remembers
	noScript               // refused in scripts
	typed                  // run by miniredis
	zeroIsNothing          // a reply of 0 means that nothing changed
	overwrites             // replaces the key whole, with its life
	unordered              // the reply is a set, in the order of Go's maps: sort it
	whileSubscribed        // allowed to a RESP2 client with subscriptions
	immediate              // not queued by MULTI
	random                 // draws from miniredis's generator
)

// command is a command of Redis. Without run and typed, the node lacks it.
type command struct {
	name              string
	arity             int // with the name; negative: at least
	traits            traits
	first, last, step int // places of the keys, as Redis gives them
	numkeys           int // or the place of their number, before them
	run               handler
	subs              []command // CLIENT ID and its like
	bySub             map[string]*command
}

func (c *command) is(t traits) bool { return c.traits&t != 0 }

func (c *command) fits(args []string) bool {
	return len(args) == c.arity || c.arity < 0 && len(args) >= -c.arity
}

// keys returns the keys among args, which may be a part of args itself.
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

// lookup finds a command by its name, and its subcommand, in any case. c is nil if Redis
// has none; container is then the command whose subcommand is unknown.
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

// index makes a table by name, in lower and in upper case.
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
