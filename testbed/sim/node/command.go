package node

import (
	"bytes"
	"maps"
	"strings"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// call is one command of a session, or of a script of the session, that runs.
type call struct {
	*Node
	s       *Session
	command *command
	args    []string // with the command's name; their number has been checked
}

// handler runs a command and writes exactly one reply, or one for each argument of SUBSCRIBE and
// similar commands.
type handler func(call) written

// traits are a set of properties that matter to the node alone. Those that Redis documents are resp.Traits.
type traits uint16

const (
	typed           traits = 1 << iota // run by miniredis
	zeroIsNothing                      // the reply 0 means that nothing changed
	overwrites                         // replaces the whole key and its expiry
	unordered                          // the reply is a set in random order and must be sorted
	whileSubscribed                    // allowed to a RESP2 client with subscriptions, like those of resp.Subscribes
	immediate                          // runs at once even in a transaction
	random                             // draws from miniredis's generator
)

// command is a Redis command.
type command struct {
	*resp.Command
	name     string // in small letters; a subcommand's is "client|id"
	traits   traits
	integers []int               // arguments that Redis checks before all others
	run      handler             // nil = the node does not support the command
	bySub    map[string]*command // subcommands, such as CLIENT ID
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

// changedNothing reports whether a write command changed nothing, judging by its reply.
func (c *command) changedNothing(reply []byte) bool {
	switch reply[0] {
	case '-', '_':
		return true
	case '$':
		return bytes.HasPrefix(reply, []byte("$-1"))
	case '*':
		return bytes.HasPrefix(reply, []byte("*-1")) || bytes.HasPrefix(reply, []byte("*0"))
	case ':':
		return c.is(zeroIsNothing) && bytes.Equal(reply, []byte(":0\r\n"))
	}
	return false
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

// commands are the commands of Redis 7.0, and some newer ones, by name. The function init fills
// this table, since an initial value would cause an initialization cycle: handlers read the table.
// The node reports newer commands as not supported, since a lock that uses them must not be judged
// as if the server had refused them.
var commands = map[string]*command{}

func init() {
	for c := range resp.All() {
		name := strings.ToLower(c.Name)
		commands[name] = &command{Command: c, name: name, integers: integers[name]}
		if strings.HasPrefix(name, "cluster|") {
			commands[name].run = noCluster
		}
	}
	for t, names := range withTraits {
		for name := range strings.FieldsSeq(names) {
			commands[name].traits |= t
			if t == typed {
				commands[name].run = call.typed
			}
		}
	}
	for _, handlers := range []map[string]handler{
		stringCommands, keyCommands, connectionCommands, transactionCommands, scriptCommands, pubsubCommands, trackingCommands,
	} {
		for name, run := range handlers {
			commands[name].run = run
		}
	}
	for name, c := range maps.Clone(commands) {
		container, sub, ok := strings.Cut(name, "|")
		if !ok {
			commands[c.Name] = c
			continue
		}
		delete(commands, name)
		if of := commands[container]; of.bySub == nil {
			of.bySub = map[string]*command{sub: c}
		} else {
			of.bySub[sub] = c
		}
	}
}

// withTraits lists the commands that have a trait.
var withTraits = map[traits]string{
	typed: `
append bitcount bitop bitpos getbit getrange incrbyfloat setbit setrange strlen scan type
hdel hexists hget hgetall hincrbyfloat hkeys hlen hmget hmset hset hsetnx hstrlen hvals hscan hrandfield
lindex linsert llen lmpop lpop lpos lpush lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx lmove
sadd scard sdiff sdiffstore sintercard sinter sinterstore sismember smembers smismember smove spop
srandmember srem sunion sunionstore sscan
zadd zcard zcount zincrby zinter zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange
zrangebylex zrangebyscore zrank zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange
zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion zunionstore`,
	zeroIsNothing: "setrange hdel hsetnx linsert lpushx lrem rpushx sadd smove srem zrem zremrangebylex zremrangebyrank " +
		"zremrangebyscore",
	overwrites:      "bitop sdiffstore sinterstore sunionstore zinterstore zunionstore",
	unordered:       "sdiff sinter sunion",
	random:          "hrandfield spop srandmember zrandmember",
	whileSubscribed: "ping quit reset",
	immediate:       "quit reset multi exec discard watch",
}

// integers lists the positions of integer arguments that Redis checks before all else.
var integers = map[string][]int{
	"getrange": {2, 3}, "lrange": {2, 3}, "lrem": {2}, "ltrim": {2, 3}, "setrange": {2}, "zremrangebyrank": {2, 3},
	"incrby": {2}, "decrby": {2}, "hincrby": {3},
}
