package resp

import (
	"iter"
	"maps"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// Command is what is known of a command of Redis.
type Command struct {
	// Name is in capitals; "" = the table has no such command.
	Name string
	// Arity is the number of arguments, with the name; -n means at least n.
	Arity int
	// First, Last and Step are the places of the keys or channels among the arguments: a negative Last counts
	// from the end. For example, 1, -1, 2 means every second argument (MSET). All are 0 if there are none.
	First, Last, Step int
	// NumKeys is the place of the argument that counts the keys after it; 0 = there is none.
	NumKeys int
	traits  Traits
}

// Traits are a set of properties of a command.
type Traits uint16

const (
	Write      Traits = 1 << iota // Redis flags it as "write"
	ReadOnly                      // reads keys, and changes no key and no time to live
	NoScript                      // refused in scripts
	Channels                      // First, Last and Step are the places of channels, not of keys
	Subscribes                    // subscribes to channels or unsubscribes; Redis confirms each by a message of its own
	Blocks                        // Redis may answer only after an event or a timeout, and run other commands until then
	Handshake                     // libraries send it of their own accord, when they connect
	Inert                         // changes no key, although it is not flagged as "readonly"
	Beyond                        // reaches keys, databases or servers that no place names, or is one of "@dangerous"
	Creates                       // changes no key or field that exists
	Expires                       // sets the key's time to live, and changes nothing else
)

// Is reports whether the command has one of the traits.
func (c *Command) Is(t Traits) bool { return c.traits&t != 0 }

// Confined reports whether the command touches no keys and channels but those at its places.
func (c *Command) Confined() bool { return c.First > 0 && c.NumKeys == 0 && !c.Is(Beyond) }

// Places returns the indices of the keys or channels at First, Last and Step among n arguments, including the
// command's name; nil if arguments are missing.
func (c *Command) Places(n int) (all []int) {
	last := c.Last
	if last < 0 {
		last += n
	}
	if c.First == 0 || last >= n {
		return nil
	}
	for i := c.First; i <= last; i += c.Step {
		all = append(all, i)
	}
	return all
}

// Keys returns the keys or channels among a command's arguments: those at its places, and those that NumKeys
// counts. It returns none of the latter if the number is not valid.
func Keys[S ~string](c *Command, args []S) (keys []S) {
	for _, i := range c.Places(len(args)) {
		keys = append(keys, args[i])
	}
	if c.NumKeys == 0 || c.NumKeys >= len(args) {
		return keys
	}
	counted := args[c.NumKeys+1:]
	if n, ok := number([]byte(args[c.NumKeys])); ok && 0 < n && n <= len(counted) {
		keys = append(keys, counted[:n]...)
	}
	return keys
}

// Lookup returns the command of this name, which may be in capital or small letters. If there is none, it
// returns an empty Command, which has no traits.
func Lookup(name string) *Command {
	var upper [len("CLUSTER|COUNT-FAILURE-REPORTS")]byte // on the stack: the gate asks for every command
	if len(name) > len(upper) {
		return &noCommand
	}
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	if c := table[string(upper[:len(name)])]; c != nil {
		return c
	}
	return &noCommand
}

// Of returns Lookup of the command's name.
func Of(args []history.Bytes) *Command {
	if len(args) == 0 {
		return &noCommand
	}
	return Lookup(string(args[0]))
}

var noCommand Command

// All returns the commands of the table, in no order.
func All() iter.Seq[*Command] { return maps.Values(table) }

// table has the commands by name.
var table = func() map[string]*Command {
	all := map[string]*Command{}
	for _, s := range shapes {
		for name := range strings.FieldsSeq(s.names) {
			all[name] = &Command{name, s.arity, s.first, s.last, s.step, s.numKeys, s.traits}
		}
	}
	return all
}()

// shapes are the commands of Redis 7.0, and newer ones of Redis or Valkey that locks may use, as COMMAND
// describes them (Redis documentation, "COMMAND" and "Key specifications"); commands of one shape stand
// together. It differs from COMMAND in four points:
//
//   - A command with subcommands, such as OBJECT, has the flags that all of them have, except HELP.
//   - The channels of "pubsub" commands have places. COMMAND gives those of shard channels only.
//   - PFCOUNT is not ReadOnly: it may write the count that it has found into the key.
//   - The traits from Subscribes on are not, or not exactly, flags of COMMAND.
var shapes = []struct {
	arity                      int
	traits                     Traits
	first, last, step, numKeys int
	names                      string
}{
	// connections
	{-2, Handshake, 0, 0, 0, 0, "CLUSTER"},
	{-1, Handshake | Inert, 0, 0, 0, 0, "COMMAND PING"},
	{1, Handshake | Inert, 0, 0, 0, 0, "ASKING READONLY READWRITE"},
	{2, Handshake | Inert, 0, 0, 0, 0, "SELECT"},
	{-1, NoScript | Handshake | Inert, 0, 0, 0, 0, "HELLO QUIT"},
	{1, NoScript | Handshake | Inert, 0, 0, 0, 0, "RESET"},
	{-2, NoScript | Handshake | Inert, 0, 0, 0, 0, "AUTH CLIENT"},
	// no keys, none changed
	{-1, Inert, 0, 0, 0, 0, "INFO"},
	{1, Inert, 0, 0, 0, 0, "TIME"},
	{-2, Inert, 0, 0, 0, 0, "PUBSUB"},
	{2, Inert, 0, 0, 0, 0, "ECHO"},
	{3, NoScript | Blocks | Inert, 0, 0, 0, 0, "WAIT"},
	{4, NoScript | Blocks | Inert, 0, 0, 0, 0, "WAITAOF"},
	{1, NoScript | Inert, 0, 0, 0, 0, "DISCARD MULTI ROLE UNWATCH"},
	{-2, NoScript | Inert, 0, 0, 0, 0, "SCRIPT"},
	// channels
	{-1, NoScript | Channels | Subscribes | Inert, 1, -1, 1, 0, "PUNSUBSCRIBE SUNSUBSCRIBE UNSUBSCRIBE"},
	{-2, NoScript | Channels | Subscribes | Inert, 1, -1, 1, 0, "PSUBSCRIBE SSUBSCRIBE SUBSCRIBE"},
	{3, Channels | Inert, 1, 1, 1, 0, "PUBLISH SPUBLISH"},
	// one key, read
	{-2, ReadOnly, 1, 1, 1, 0, "BITCOUNT BITFIELD_RO GEOHASH GEOPOS HRANDFIELD SRANDMEMBER ZRANDMEMBER"},
	{2, ReadOnly, 1, 1, 1, 0, "DIGEST DUMP EXPIRETIME GET HGETALL HKEYS HLEN HVALS LLEN PEXPIRETIME PTTL SCARD SMEMBERS STRLEN TTL TYPE XLEN " +
		"ZCARD"},
	{-3, ReadOnly, 1, 1, 1, 0, "BITPOS HMGET HSCAN LPOS SMISMEMBER SSCAN XPENDING ZMSCORE ZSCAN"},
	{3, ReadOnly, 1, 1, 1, 0, "GETBIT HEXISTS HGET HSTRLEN LINDEX SISMEMBER ZRANK ZREVRANK ZSCORE"},
	{-4, ReadOnly, 1, 1, 1, 0, "GEODIST XRANGE XREVRANGE ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE"},
	{4, ReadOnly, 1, 1, 1, 0, "GETRANGE LRANGE SUBSTR ZCOUNT ZLEXCOUNT"},
	{-5, ReadOnly, 1, 1, 1, 0, "GEORADIUSBYMEMBER_RO HEXPIRETIME HPEXPIRETIME HPTTL HTTL"},
	{-6, ReadOnly, 1, 1, 1, 0, "GEORADIUS_RO"},
	{-7, ReadOnly, 1, 1, 1, 0, "GEOSEARCH"},
	// one key, written
	{-2, Write, 1, 1, 1, 0, "BITFIELD DELEX GETEX LPOP PFADD RPOP SPOP ZPOPMAX ZPOPMIN"},
	{2, Write, 1, 1, 1, 0, "DECR GETDEL INCR PERSIST"},
	{-3, Write, 1, 1, 1, 0, "HDEL LPUSH LPUSHX RPUSH RPUSHX SADD SET SREM XDEL XSETID ZREM"},
	{3, Write, 1, 1, 1, 0, "APPEND DECRBY DELIFEQ GETSET INCRBY INCRBYFLOAT"},
	{-4, Write, 1, 1, 1, 0, "HMSET HSET XACK XTRIM ZADD"},
	{4, Write, 1, 1, 1, 0, "HINCRBY HINCRBYFLOAT LREM LSET LTRIM PSETEX SETBIT SETEX SETRANGE ZINCRBY ZREMRANGEBYLEX ZREMRANGEBYRANK " +
		"ZREMRANGEBYSCORE"},
	{-5, Write, 1, 1, 1, 0, "GEOADD HGETDEL HGETEX HPERSIST XADD XDELEX"},
	{5, Write, 1, 1, 1, 0, "LINSERT"},
	{-6, Write, 1, 1, 1, 0, "HEXPIRE HEXPIREAT HPEXPIRE HPEXPIREAT HSETEX XACKDEL XAUTOCLAIM XCLAIM"},
	{3, Write | Creates, 1, 1, 1, 0, "SETNX"},
	{4, Write | Creates, 1, 1, 1, 0, "HSETNX"},
	{-3, Write | Expires, 1, 1, 1, 0, "EXPIRE EXPIREAT PEXPIRE PEXPIREAT"},
	// several keys
	{-3, Write | NoScript | Blocks, 1, -2, 1, 0, "BLPOP BRPOP BZPOPMAX BZPOPMIN"},
	{-2, 0, 1, -1, 1, 0, "PFCOUNT"},
	{-2, NoScript | Inert, 1, -1, 1, 0, "WATCH"},
	{-2, ReadOnly, 1, -1, 1, 0, "EXISTS MGET SDIFF SINTER SUNION TOUCH"},
	{-2, Write, 1, -1, 1, 0, "DEL PFMERGE UNLINK"},
	{-3, Write, 1, -1, 1, 0, "SDIFFSTORE SINTERSTORE SUNIONSTORE"},
	{-3, Write, 1, -1, 2, 0, "MSET"},
	{-3, Write | Creates, 1, -1, 2, 0, "MSETNX"},
	{-3, ReadOnly, 1, 2, 1, 0, "LCS"},
	{3, Write, 1, 2, 1, 0, "RENAME RENAMENX RPOPLPUSH"},
	{4, Write, 1, 2, 1, 0, "SMOVE"},
	{-5, Write, 1, 2, 1, 0, "ZRANGESTORE"},
	{5, Write, 1, 2, 1, 0, "LMOVE"},
	{-8, Write, 1, 2, 1, 0, "GEOSEARCHSTORE"},
	{4, Write | NoScript | Blocks, 1, 2, 1, 0, "BRPOPLPUSH"},
	{6, Write | NoScript | Blocks, 1, 2, 1, 0, "BLMOVE"},
	{-4, Write, 2, -1, 1, 0, "BITOP"},
	// keys that an argument counts
	{-3, ReadOnly, 0, 0, 0, 1, "SINTERCARD ZDIFF ZINTER ZINTERCARD ZUNION"},
	{-4, Write, 0, 0, 0, 1, "LMPOP MSETEX ZMPOP"},
	{-3, NoScript, 0, 0, 0, 2, "EVAL EVALSHA FCALL"},
	{-3, ReadOnly | NoScript, 0, 0, 0, 2, "EVALSHA_RO EVAL_RO FCALL_RO"},
	{-5, Write | Blocks, 0, 0, 0, 2, "BLMPOP BZMPOP"},
	{-4, Write, 1, 1, 1, 2, "ZDIFFSTORE ZINTERSTORE ZUNIONSTORE"},
	// reaching beyond their keys
	{-2, ReadOnly | Beyond, 1, 1, 1, 0, "SORT_RO"},
	{-2, Write | Beyond, 1, 1, 1, 0, "SORT"},
	{3, Write | Beyond, 1, 1, 1, 0, "MOVE"},
	{-4, Write | Beyond, 1, 1, 1, 0, "RESTORE RESTORE-ASKING"},
	{-5, Write | Beyond, 1, 1, 1, 0, "GEORADIUSBYMEMBER"},
	{-6, Write | Beyond, 1, 1, 1, 0, "GEORADIUS"},
	{-3, Write | Beyond, 1, 2, 1, 0, "COPY"},
	{3, Write | Beyond, 2, 2, 1, 0, "PFDEBUG"},
	{-6, Write | Beyond, 3, 3, 1, 0, "MIGRATE"},
	// reading what no place names
	{-1, ReadOnly, 0, 0, 0, 0, "LOLWUT"},
	{1, ReadOnly, 0, 0, 0, 0, "DBSIZE RANDOMKEY"},
	{-2, ReadOnly, 0, 0, 0, 0, "OBJECT SCAN XINFO"},
	{2, ReadOnly, 0, 0, 0, 0, "KEYS"},
	{-4, ReadOnly | Blocks, 0, 0, 0, 0, "XREAD"},
	// changing what no place names
	{-1, Write, 0, 0, 0, 0, "FLUSHALL FLUSHDB"},
	{-2, Write, 0, 0, 0, 0, "XGROUP"},
	{3, Write, 0, 0, 0, 0, "SWAPDB"},
	{-7, Write | Blocks, 0, 0, 0, 0, "XREADGROUP"},
	// running other commands, or administration
	{1, 0, 0, 0, 0, 0, "LASTSAVE PFSELFTEST"},
	{-2, 0, 0, 0, 0, 0, "MEMORY SLOWLOG"},
	{-1, NoScript, 0, 0, 0, 0, "BGSAVE FAILOVER REPLCONF SHUTDOWN"},
	{1, NoScript, 0, 0, 0, 0, "BGREWRITEAOF EXEC MONITOR SAVE SYNC"},
	{-2, NoScript, 0, 0, 0, 0, "ACL CONFIG DEBUG FUNCTION LATENCY MODULE"},
	{-3, NoScript, 0, 0, 0, 0, "PSYNC"},
	{3, NoScript, 0, 0, 0, 0, "REPLICAOF SLAVEOF"},
	// subcommands of those that the simulated node has
	{-2, 0, 0, 0, 0, 0, "CLUSTER|FAILOVER PUBSUB|CHANNELS PUBSUB|NUMSUB PUBSUB|SHARDCHANNELS PUBSUB|SHARDNUMSUB"},
	{2, 0, 0, 0, 0, 0, "CLIENT|HELP CLUSTER|BUMPEPOCH CLUSTER|FLUSHSLOTS CLUSTER|HELP CLUSTER|INFO CLUSTER|LINKS CLUSTER|MYID " +
		"CLUSTER|NODES CLUSTER|SAVECONFIG CLUSTER|SHARDS CLUSTER|SLOTS PUBSUB|HELP PUBSUB|NUMPAT SCRIPT|HELP"},
	{-3, 0, 0, 0, 0, 0, "CLUSTER|ADDSLOTS CLUSTER|DELSLOTS"},
	{3, 0, 0, 0, 0, 0, "CLUSTER|COUNT-FAILURE-REPORTS CLUSTER|COUNTKEYSINSLOT CLUSTER|FORGET CLUSTER|KEYSLOT CLUSTER|REPLICAS " +
		"CLUSTER|REPLICATE CLUSTER|SET-CONFIG-EPOCH CLUSTER|SLAVES"},
	{-4, 0, 0, 0, 0, 0, "CLUSTER|ADDSLOTSRANGE CLUSTER|DELSLOTSRANGE CLUSTER|MEET CLUSTER|SETSLOT"},
	{4, 0, 0, 0, 0, 0, "CLUSTER|GETKEYSINSLOT"},
	{-2, NoScript, 0, 0, 0, 0, "CLIENT|LIST CLUSTER|RESET SCRIPT|FLUSH"},
	{2, NoScript, 0, 0, 0, 0, "CLIENT|GETNAME CLIENT|GETREDIR CLIENT|ID CLIENT|INFO CLIENT|TRACKINGINFO CLIENT|UNPAUSE SCRIPT|KILL"},
	{-3, NoScript, 0, 0, 0, 0, "CLIENT|KILL CLIENT|PAUSE CLIENT|TRACKING CLIENT|UNBLOCK SCRIPT|EXISTS"},
	{3, NoScript, 0, 0, 0, 0, "CLIENT|CACHING CLIENT|NO-EVICT CLIENT|REPLY CLIENT|SETNAME SCRIPT|DEBUG SCRIPT|LOAD"},
}
