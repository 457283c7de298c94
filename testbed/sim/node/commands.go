package node

import (
	"strings"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// commands are the commands of Redis 7.0, and some newer ones, by name. The function init fills
// this table, since an initial value would cause an initialization cycle: handlers read the table.
// The node reports newer commands as not supported, since a lock that uses them must not be judged
// as if the server had refused them.
var commands = map[string]*command{}

func init() {
	for c := range resp.All() {
		name := strings.ToLower(c.Name)
		commands[name] = &command{Command: c, name: name}
	}
	for _, handlers := range []map[string]handler{dataHandlers(), otherHandlers()} {
		for name, h := range handlers {
			commands[name].run = h
		}
	}
	for t, names := range withTraits {
		for name := range strings.FieldsSeq(names) {
			commands[name].traits |= t
		}
	}
	for name, c := range commands {
		container, sub, ok := strings.Cut(name, "|")
		if !ok {
			commands[c.Name] = c
			continue
		}
		if container == "cluster" {
			c.run = (*Node).noCluster
		}
		delete(commands, name)
		if of := commands[container]; of.bySub == nil {
			of.bySub = map[string]*command{sub: c}
		} else {
			of.bySub[sub] = c
		}
	}
}

// dataHandlers returns the handlers of the data commands that the node runs itself.
func dataHandlers() map[string]handler {
	return map[string]handler{
		// strings
		"get":    (*Node).cmdGet,
		"set":    (*Node).cmdSet,
		"setnx":  (*Node).cmdSetnx,
		"setex":  (*Node).cmdSetex,
		"psetex": (*Node).cmdPsetex,
		"getex":  (*Node).cmdGetex,
		"getset": (*Node).cmdGetset,
		"getdel": (*Node).cmdGetdel,
		"mget":   (*Node).cmdMget,
		"mset":   (*Node).cmdMset,
		"msetnx": (*Node).cmdMsetnx,
		"incr":   (*Node).cmdIncr,
		"incrby": (*Node).cmdIncrby,
		"decr":   (*Node).cmdDecr,
		"decrby": (*Node).cmdDecrby,
		// keys
		"copy":        (*Node).cmdCopy,
		"del":         (*Node).cmdDel,
		"unlink":      (*Node).cmdUnlink,
		"exists":      (*Node).cmdExists,
		"expire":      (*Node).cmdExpire,
		"expireat":    (*Node).cmdExpireat,
		"pexpire":     (*Node).cmdPexpire,
		"pexpireat":   (*Node).cmdPexpireat,
		"expiretime":  (*Node).cmdExpiretime,
		"pexpiretime": (*Node).cmdPexpiretime,
		"ttl":         (*Node).cmdTtl,
		"pttl":        (*Node).cmdPttl,
		"persist":     (*Node).cmdPersist,
		"rename":      (*Node).cmdRename,
		"renamenx":    (*Node).cmdRenamenx,
		"touch":       (*Node).cmdTouch,
		"randomkey":   (*Node).cmdRandomkey,
		"dbsize":      (*Node).cmdDbsize,
		"flushall":    (*Node).cmdFlushall,
		"flushdb":     (*Node).cmdFlushdb,
		"time":        (*Node).cmdTime,
		"select":      (*Node).cmdSelect,
		"wait":        (*Node).cmdWait,
		"keys":        (*Node).cmdKeys,
		// hashes
		"hincrby": (*Node).cmdHincrby,
	}
}

// otherHandlers returns the handlers of the commands for connections, transactions, scripts and
// channels.
func otherHandlers() map[string]handler {
	return map[string]handler{
		// connections
		"auth":            (*Node).cmdAuth,
		"echo":            (*Node).cmdEcho,
		"hello":           (*Node).cmdHello,
		"ping":            (*Node).cmdPing,
		"quit":            (*Node).cmdQuit,
		"reset":           (*Node).cmdReset,
		"role":            (*Node).cmdRole,
		"info":            (*Node).cmdInfo,
		"client|id":       func(n *Node, s *Session, _ []string) { n.int(int64(s.id)) },
		"client|getname":  (*Node).clientGetname,
		"client|setname":  (*Node).clientSetname,
		"client|no-evict": (*Node).clientNoEvict,
		"client|tracking": (*Node).clientTracking,
		"client|caching":  (*Node).clientCaching,
		"client|getredir": (*Node).clientGetredir,
		// clusters
		"readonly":  (*Node).noCluster,
		"readwrite": (*Node).noCluster,
		"asking":    (*Node).noCluster,
		// transactions
		"multi":   (*Node).cmdMulti,
		"exec":    (*Node).cmdExec,
		"discard": (*Node).cmdDiscard,
		"watch":   (*Node).cmdWatch,
		"unwatch": (*Node).cmdUnwatch,
		// scripts
		"eval":          (*Node).cmdEval,
		"evalsha":       (*Node).cmdEvalsha,
		"eval_ro":       (*Node).cmdEvalro,
		"evalsha_ro":    (*Node).cmdEvalsharo,
		"script|load":   (*Node).scriptLoad,
		"script|exists": (*Node).scriptExists,
		"script|flush":  (*Node).scriptFlush,
		"script|kill":   func(n *Node, _ *Session, _ []string) { n.fail("NOTBUSY No scripts in execution right now.") },
		// publish and subscribe
		"subscribe":       (*Node).cmdSubscribe,
		"unsubscribe":     (*Node).cmdUnsubscribe,
		"psubscribe":      (*Node).cmdPsubscribe,
		"punsubscribe":    (*Node).cmdPunsubscribe,
		"publish":         (*Node).cmdPublish,
		"pubsub|channels": (*Node).pubsubChannels,
		"pubsub|numsub":   (*Node).pubsubNumsub,
		"pubsub|numpat":   func(n *Node, _ *Session, _ []string) { n.int(int64(len(n.patterns))) },
	}
}

// withTraits lists the commands that have a trait. The typed ones are the commands that miniredis runs.
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
	whileSubscribed: "ping quit reset subscribe unsubscribe psubscribe punsubscribe",
	immediate:       "quit reset multi exec discard watch",
}
