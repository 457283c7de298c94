package external

import (
	"strings"
)

// rule says where a command's keys and channels are, so that the guard can confine the command to
// the trial's own keys and channels. A command without a rule is not sent.
type rule struct {
	// first, last and step are the places of the keys, as in COMMAND INFO: a negative last
	// counts from the end. For example, 1, -1, 2 means every second argument (MSET). All are 0
	// if there are no keys.
	first, last, step int
	// channels: the arguments at the rule's places are channels, not keys.
	channels bool
	// bare: the command has neither keys nor channels, and scripts may call it, too.
	bare bool
	// confine confines a command whose keys the places cannot describe; nil = not needed.
	confine func(g *guard, args []string) ([]string, error)
}

// oneKey lists commands whose only key is their first argument.
const oneKey = `
APPEND BITCOUNT BITPOS DECR DECRBY DUMP EXPIRE EXPIREAT EXPIRETIME GET GETBIT GETDEL GETEX GETRANGE GETSET
INCR INCRBY INCRBYFLOAT PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PSETEX PTTL SET SETBIT SETEX SETNX SETRANGE
STRLEN SUBSTR TTL TYPE
HDEL HEXISTS HGET HGETALL HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HRANDFIELD HSCAN HSET HSETNX HSTRLEN HVALS
LINDEX LINSERT LLEN LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM RPOP RPUSH RPUSHX
SADD SCARD SISMEMBER SMEMBERS SMISMEMBER SPOP SRANDMEMBER SREM SSCAN
ZADD ZCARD ZCOUNT ZINCRBY ZLEXCOUNT ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK
ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE
XACK XADD XDEL XLEN XRANGE XREVRANGE XTRIM`

// rules are the commands that may be sent, by name: commands that locks and lock libraries use, and
// that touch only the keys and channels that they name. KEYS, FLUSHALL, FLUSHDB, SHUTDOWN, DEBUG,
// CONFIG, SCRIPT FLUSH, CLIENT KILL and the like are not among them.
var rules = map[string]rule{
	"DEL": {first: 1, last: -1, step: 1}, "UNLINK": {first: 1, last: -1, step: 1},
	"EXISTS": {first: 1, last: -1, step: 1}, "TOUCH": {first: 1, last: -1, step: 1},
	"MGET": {first: 1, last: -1, step: 1}, "WATCH": {first: 1, last: -1, step: 1},
	"SDIFF": {first: 1, last: -1, step: 1}, "SINTER": {first: 1, last: -1, step: 1}, "SUNION": {first: 1, last: -1, step: 1},
	"MSET": {first: 1, last: -1, step: 2}, "MSETNX": {first: 1, last: -1, step: 2},
	"RENAME": {first: 1, last: 2, step: 1}, "RENAMENX": {first: 1, last: 2, step: 1},
	"RPOPLPUSH": {first: 1, last: 2, step: 1}, "LMOVE": {first: 1, last: 2, step: 1}, "SMOVE": {first: 1, last: 2, step: 1},
	"BRPOPLPUSH": {first: 1, last: 2, step: 1}, "BLMOVE": {first: 1, last: 2, step: 1},
	"BLPOP": {first: 1, last: -2, step: 1}, "BRPOP": {first: 1, last: -2, step: 1},
	"BZPOPMIN": {first: 1, last: -2, step: 1}, "BZPOPMAX": {first: 1, last: -2, step: 1},

	"PUBLISH": {first: 1, last: 1, step: 1, channels: true}, "SPUBLISH": {first: 1, last: 1, step: 1, channels: true},
	"SUBSCRIBE": {first: 1, last: -1, step: 1, channels: true}, "UNSUBSCRIBE": {first: 1, last: -1, step: 1, channels: true},
	"SSUBSCRIBE": {first: 1, last: -1, step: 1, channels: true}, "SUNSUBSCRIBE": {first: 1, last: -1, step: 1, channels: true},
	// A pattern with the prefix matches only the trial's channels, because the prefix has no
	// special characters.
	"PSUBSCRIBE": {first: 1, last: -1, step: 1, channels: true}, "PUNSUBSCRIBE": {first: 1, last: -1, step: 1, channels: true},

	"SCAN": {confine: scan}, "CLIENT": {confine: client}, "HELLO": {confine: hello},

	"TIME": {bare: true}, "PING": {bare: true}, "ECHO": {bare: true},
	"MULTI": {}, "EXEC": {}, "DISCARD": {}, "UNWATCH": {}, "WAIT": {}, "WAITAOF": {},
	"COMMAND": {}, "INFO": {}, "DBSIZE": {}, "QUIT": {},
}

func init() {
	for _, name := range []string{"EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO"} {
		rules[name] = rule{confine: eval} // set here, not above, because eval itself uses rules
	}
	rules["SCRIPT"] = rule{confine: script}
	for name := range strings.FieldsSeq(oneKey) {
		rules[name] = rule{first: 1, last: 1, step: 1}
	}
}

// places returns the indices of the keys or channels among n arguments, including the
// command's name; nil if arguments are missing.
func (r rule) places(n int) []int {
	last := r.last
	if last < 0 {
		last += n
	}
	if r.first == 0 || last >= n {
		return nil
	}
	var all []int
	for i := r.first; i <= last; i += r.step {
		all = append(all, i)
	}
	return all
}
