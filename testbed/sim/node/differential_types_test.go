package node_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// Arguments of commands on lists, sets and sorted sets. The keys include one string, for wrong
// types. Most numbers are well formed, since miniredis, which runs these commands, checks
// arguments in another order than Redis.
var (
	typedPool  = []string{"l1", "l2", "s1", "s2", "z1", "z2", "k1"}
	list       = from([]string{"l1", "l1", "l1", "l2", "k1"})
	set        = from([]string{"s1", "s1", "s1", "s2", "k1"})
	zset       = from([]string{"z1", "z1", "z1", "z2", "k1"})
	element    = from([]string{"a", "b", "c", "", "\xff\x00"})
	index      = from([]string{"0", "1", "-1", "2", "-2", "100", "-100"})
	score      = from([]string{"1", "2", "-1", "1.5", "0", "inf", "-inf"})
	scoreBound = from([]string{"-inf", "+inf", "0", "1", "(1", "2"})
	numbers    = from([]string{"1", "1.5", "-0.1", "3.0e3"}, "abc", "")
)

// others holds commands that no recipe sends but that other locks may use, such as commands on
// lists, sets and sorted sets, with generators of their arguments.
var others = map[string]gen{
	"SETEX":       all(key, seconds, value1),
	"PSETEX":      all(key, millis, value1),
	"MGET":        some(key, 1, 3),
	"MSET":        some(all(key, value1), 1, 2),
	"MSETNX":      some(all(key, value1), 1, 2),
	"DECRBY":      all(key, integer),
	"INCRBYFLOAT": all(key, numbers),
	"GETRANGE":    all(key, index, index),
	"SETRANGE":    all(key, from([]string{"0", "1", "5"}, "-1", "abc"), from([]string{"a", "\xff\x00"})), // no empty value: miniredis would create a key for it
	"RENAME":      all(key, key),
	"RENAMENX":    all(key, key),
	"COPY":        all(key, key, oneOf(none, word("REPLACE"))),
	"TOUCH":       some(key, 1, 2),
	"DBSIZE":      none,
	"FLUSHALL":    oneOf(none, word("SYNC"), word("BAD")),
	"FLUSHDB":     none,
	"KEYS":        from([]string{"*", "k*", "?1", "[kh]1", "k[^1]", "none"}),
	"HMSET":       all(key, some(all(field, value1), 1, 2)),
	"HSTRLEN":     all(key, field),

	"HINCRBYFLOAT": all(key, field, numbers),

	"LPUSH":     all(list, some(element, 1, 3)),
	"RPUSH":     all(list, some(element, 1, 3)),
	"LPUSHX":    all(list, element),
	"RPUSHX":    all(list, element),
	"LPOP":      all(list, oneOf(none, from([]string{"1", "2", "0"}))),
	"RPOP":      all(list, oneOf(none, from([]string{"1", "2", "0"}))),
	"LLEN":      list,
	"LRANGE":    all(list, index, index),
	"LINDEX":    all(list, index),
	"LREM":      all(list, index, element),
	"LSET":      all(list, index, element),
	"LTRIM":     all(list, index, index),
	"RPOPLPUSH": all(list, list),
	"LMOVE":     all(list, list, word("LEFT"), word("RIGHT")),

	"SADD":       all(set, some(element, 1, 3)),
	"SREM":       all(set, some(element, 1, 3)),
	"SISMEMBER":  all(set, element),
	"SMISMEMBER": all(set, some(element, 1, 3)),
	"SMEMBERS":   set,
	"SCARD":      set,

	"ZADD":             all(zset, oneOf(none, none, word("NX"), word("XX"), word("GT"), word("LT"), word("CH"), all(word("NX"), word("GT"))), some(all(score, element), 1, 2)),
	"ZREM":             all(zset, some(element, 1, 3)),
	"ZSCORE":           all(zset, element),
	"ZCARD":            zset,
	"ZCOUNT":           all(zset, scoreBound, scoreBound),
	"ZINCRBY":          all(zset, score, element),
	"ZRANK":            all(zset, element),
	"ZREVRANK":         all(zset, element),
	"ZRANGE":           all(zset, index, index, oneOf(none, word("WITHSCORES"))),
	"ZRANGEBYSCORE":    all(zset, scoreBound, scoreBound, oneOf(none, word("WITHSCORES"))),
	"ZREMRANGEBYSCORE": all(zset, scoreBound, scoreBound),
	"ZREMRANGEBYRANK":  all(zset, index, index),
	"ZPOPMIN":          zset,
	"ZPOPMAX":          zset,

	"EVAL_RO":    all(from([]string{luaOne, luaSet, `return redis.call("GET", KEYS[1])`}), from([]string{"1"}), key, value1),
	"EVALSHA_RO": all(from([]string{sha(luaOne), sha(luaSet)}), from([]string{"1"}), key, value1),
}

// notCompared lists the commands that no test compares. Miniredis runs them, or the node has
// them only for the convenience of clients.
var notCompared = []string{
	"AUTH", "BITCOUNT", "BITOP", "BITPOS", "GETBIT", "HRANDFIELD", "HSCAN", "INFO", "LINSERT", "LMPOP", "LPOS", "QUIT", "RANDOMKEY",
	"RESET", "ROLE", "SCAN", "SDIFF", "SDIFFSTORE", "SETBIT", "SINTER", "SINTERCARD", "SINTERSTORE", "SMOVE", "SPOP", "SRANDMEMBER",
	"SSCAN", "SUNION", "SUNIONSTORE", "ZINTER", "ZINTERSTORE", "ZLEXCOUNT", "ZMPOP", "ZMSCORE", "ZRANDMEMBER", "ZRANGEBYLEX",
	"ZREMRANGEBYLEX", "ZREVRANGE", "ZREVRANGEBYLEX", "ZREVRANGEBYSCORE", "ZSCAN", "ZUNION", "ZUNIONSTORE",
}

var otherNames = slices.Sorted(maps.Keys(others))

// typed draws a command of others, or a command of keyed on a key of typedPool.
func typed(t *rapid.T) []step {
	if rapid.IntRange(0, 5).Draw(t, "any type") == 0 {
		args := aimed(t, rapid.SampledFrom(typedPool).Draw(t, "key"))
		return []step{{session: session(t), args: args}}
	}
	return []step{{session: session(t), args: commandOf(t, rapid.SampledFrom(otherNames).Draw(t, "command"))}}
}

// examples is the number of calls of each command in everyCommand, and of each script in
// everyRecipeScript.
const examples = 60

// everyCommand returns scripts that call each command on keys of all types, so that each command is
// compared whatever rapid draws.
func everyCommand() [][]step {
	var scripts [][]step
	for _, name := range slices.Concat(names, otherNames) {
		g := rapid.Custom(func(t *rapid.T) []string { return commandOf(t, name) })
		var steps []step
		for i := range examples {
			if i%4 == 0 {
				steps = append(steps, calls(
					[]string{"SET", "k1", "5", "PX", "100000"}, []string{"HSET", "h1", "t1", "1", "read", "2"},
					[]string{"RPUSH", "l1", "a", "b"}, []string{"SADD", "s1", "a", "b"}, []string{"ZADD", "z1", "1", "a", "2", "b"},
					[]string{"SCRIPT", "LOAD", luaOne},
				)...)
			}
			steps = append(steps, step{session: i % sessions, args: g.Example(i)})
		}
		scripts = append(scripts, steps)
	}
	return scripts
}
