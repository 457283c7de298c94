package keyspace

import "strings"

// ReadOnly reports whether the command of this name changes no key and no time to live: Redis flags it as
// "readonly" (Redis documentation, "COMMAND"). The name may be in capital or small letters. The commands are
// those of Redis 7.4 with which a lock may read its keys. OBJECT and XINFO have subcommands, which are all
// read-only. Any other command is taken for one that may write.
func ReadOnly(name string) bool { return readOnly[strings.ToUpper(name)] }

var readOnly = map[string]bool{
	"EXISTS": true, "TYPE": true, "TTL": true, "PTTL": true, "EXPIRETIME": true, "PEXPIRETIME": true, "DUMP": true, "TOUCH": true,
	"OBJECT": true, "KEYS": true, "SCAN": true, "DBSIZE": true, "RANDOMKEY": true, "SORT_RO": true,
	"GET": true, "MGET": true, "STRLEN": true, "GETRANGE": true, "SUBSTR": true, "LCS": true,
	"GETBIT": true, "BITCOUNT": true, "BITPOS": true, "BITFIELD_RO": true,
	"HGET": true, "HMGET": true, "HGETALL": true, "HKEYS": true, "HVALS": true, "HLEN": true, "HEXISTS": true, "HSTRLEN": true,
	"HRANDFIELD": true, "HSCAN": true, "HTTL": true, "HPTTL": true, "HEXPIRETIME": true, "HPEXPIRETIME": true,
	"LLEN": true, "LRANGE": true, "LINDEX": true, "LPOS": true,
	"SISMEMBER": true, "SMISMEMBER": true, "SMEMBERS": true, "SCARD": true, "SRANDMEMBER": true, "SSCAN": true,
	"SINTER": true, "SINTERCARD": true, "SUNION": true, "SDIFF": true,
	"ZSCORE": true, "ZMSCORE": true, "ZCARD": true, "ZCOUNT": true, "ZLEXCOUNT": true, "ZRANK": true, "ZREVRANK": true,
	"ZRANGE": true, "ZREVRANGE": true, "ZRANGEBYSCORE": true, "ZREVRANGEBYSCORE": true, "ZRANGEBYLEX": true, "ZREVRANGEBYLEX": true,
	"ZRANDMEMBER": true, "ZSCAN": true, "ZINTER": true, "ZINTERCARD": true, "ZUNION": true, "ZDIFF": true,
	"XLEN": true, "XRANGE": true, "XREVRANGE": true, "XREAD": true, "XPENDING": true, "XINFO": true,
	"EVAL_RO": true, "EVALSHA_RO": true, "FCALL_RO": true,
}
