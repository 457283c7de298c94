package node_test

import (
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// The pools that arguments are drawn from are small, for commands to meet on the
// same keys, owners and channels.
var (
	keyPool     = []string{"k1", "k2", "h1", "h2", "", "b\x00\xff\r\n"}
	valuePool   = []string{"t1", "t2", "1", "10", "", "\x00\xff\r\n$5\r\n", "-7", "1.5", " 1", "9223372036854775807"}
	fieldPool   = []string{"t1", "t2", "read", "write", "", "\xff\x00"}
	integerPool = []string{"1", "-1", "0", "5", "-7", "100"}
	oddIntegers = []string{
		"abc", "1.5", "", " 1", "1 ", "+1", "01", "0x10", "1e3", "-0", "-",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809",
	}
	channelPool = []string{"c1", "c2", "redisson_lock__channel:{k1}", ""}
	patternPool = []string{"c*", "c?", "c[12]", "redisson*", "*"}
	messagePool = []string{"0", "m", "", "\x00\xff"}
	// lives are long enough to outlast any script of commands: what happens at a
	// life's end has tests of its own.
	milliPool  = []string{"100000", "60000", "100499", "100500", "1", "0", "-1", "-100000"}
	secondPool = []string{"100", "60", "0", "-1", "-100"}
	oddLives   = []string{"abc", "", "1.5", "9223372036854775807", "9223372036854775", "-9223372036854775808", "9223372036854775808", "99999999999999"}
	atMillis   = []string{"@ms100000", "@ms+60000", "@ms-1", "@ms-100000", "0", "-1", "1"}
	atSeconds  = []string{"@s100", "@s+60", "@s-10", "0", "-1", "1"}
)

// gen draws some arguments.
type gen func(*rapid.T) []string

// from draws one argument from a pool, rarely one of odd ones.
func from(pool []string, odd ...string) gen {
	return func(t *rapid.T) []string {
		if len(odd) > 0 && rapid.IntRange(0, 9).Draw(t, "odd") == 9 {
			return []string{rapid.SampledFrom(odd).Draw(t, "arg")}
		}
		return []string{rapid.SampledFrom(pool).Draw(t, "arg")}
	}
}

// all draws from one after the other.
func all(gens ...gen) gen {
	return func(t *rapid.T) []string {
		var args []string
		for _, g := range gens {
			args = append(args, g(t)...)
		}
		return args
	}
}

// some draws least to most times.
func some(g gen, least, most int) gen {
	return func(t *rapid.T) []string {
		var args []string
		for range rapid.IntRange(least, most).Draw(t, "n") {
			args = append(args, g(t)...)
		}
		return args
	}
}

// oneOf draws from one of several.
func oneOf(gens ...gen) gen {
	return func(t *rapid.T) []string { return gens[rapid.IntRange(0, len(gens)-1).Draw(t, "which")](t) }
}

// word is an argument that is always there, in either case.
func word(w string) gen { return from([]string{w, w, strings.ToLower(w)}) }

func none(*rapid.T) []string { return nil }

var (
	key     = from(keyPool)
	value1  = from(valuePool)
	field   = from(fieldPool)
	integer = from(integerPool, oddIntegers...)
	millis  = from(milliPool, oddLives...)
	seconds = from(secondPool, oddLives...)
	atMs    = from(atMillis, oddLives...)
	atS     = from(atSeconds, oddLives...)
	channel = from(channelPool)
	// which are EXPIRE's conditions.
	which = oneOf(none, none, word("NX"), word("XX"), word("GT"), word("LT"), all(word("NX"), word("GT")), all(word("GT"), word("LT")), all(word("XX"), word("GT")), word("BAD"))
	life  = oneOf(all(word("EX"), seconds), all(word("PX"), millis), all(word("EXAT"), atS), all(word("PXAT"), atMs))
)

// arguments are the commands that are compared, with their arguments. What
// recipes send beside them is found by running the recipes.
var arguments = map[string]gen{
	"SETNX":  all(key, value1),
	"SET":    all(key, value1, some(oneOf(life, life, word("NX"), word("NX"), word("XX"), word("GET"), word("KEEPTTL"), word("BAD")), 0, 3)),
	"GET":    key,
	"GETSET": all(key, value1),
	"GETDEL": key,
	"GETEX":  all(key, oneOf(none, life, life, word("PERSIST"), all(life, word("PERSIST")), word("BAD"))),

	"EXPIRE":      all(key, seconds, which),
	"PEXPIRE":     all(key, millis, which),
	"EXPIREAT":    all(key, atS, which),
	"PEXPIREAT":   all(key, atMs, which),
	"PERSIST":     key,
	"TTL":         key,
	"PTTL":        key,
	"EXPIRETIME":  key,
	"PEXPIRETIME": key,

	"EXISTS": some(key, 1, 3),
	"DEL":    some(key, 1, 3),
	"UNLINK": some(key, 1, 3),
	"TYPE":   key,
	"INCR":   key,
	"INCRBY": all(key, integer),
	"DECR":   key,
	"APPEND": all(key, value1),
	"STRLEN": key,

	"HSET":    all(key, some(all(field, value1), 1, 2)),
	"HSETNX":  all(key, field, value1),
	"HGET":    all(key, field),
	"HMGET":   all(key, some(field, 1, 3)),
	"HGETALL": key,
	"HINCRBY": all(key, field, integer),
	"HEXISTS": all(key, field),
	"HDEL":    all(key, some(field, 1, 3)),
	"HLEN":    key,
	"HKEYS":   key,
	"HVALS":   key,

	"PUBLISH": all(channel, from(messagePool)),
	"PING":    oneOf(none, value1),
	"ECHO":    value1,
	"TIME":    none,
	"SELECT":  from([]string{"0"}, "abc", "-1", "16", ""),

	"CLIENT SETNAME":  from([]string{"name", "other", ""}, "a b", "a\n"),
	"CLIENT GETNAME":  none,
	"CLIENT ID":       none,
	"CLIENT SETINFO":  all(word("LIB-NAME"), value1),
	"SCRIPT EXISTS":   some(from([]string{sha(luaOne), sha(luaSet), "abc", ""}), 1, 3),
	"SCRIPT LOAD":     from([]string{luaOne, luaSet, "return (", ""}),
	"SCRIPT FLUSH":    oneOf(none, word("SYNC"), word("ASYNC"), word("BAD")),
	"NOSUCHCOMMAND":   some(value1, 0, 3),
	"CLIENT NOSUCH":   none,
	"SCRIPT NOSUCH":   none,
	"SCRIPT KILL":     none,
	"CLIENT TRACKING": oneOf(word("OFF"), word("BAD")),
	"CLIENT CACHING":  from([]string{"YES", "NO"}, "BAD"),
	"CLIENT GETREDIR": none,
	"CLIENT NO-EVICT": from([]string{"ON", "OFF"}, "BAD"),
	"CLUSTER":         all(oneOf(word("INFO"), word("SLOTS"), word("NOSUCH")), some(key, 0, 1)),
	"READONLY":        none,
	"READWRITE":       none,
	"ASKING":          none,
	"PUBSUB CHANNELS": oneOf(none, from(patternPool)),
	"PUBSUB NUMSUB":   some(channel, 0, 2),
	"PUBSUB NUMPAT":   none,
}

// Those that are not drawn as single commands, but in fragments of their own.
var inFragments = []string{
	"MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH", "EVAL", "EVALSHA",
	"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "HELLO",
}

// neverSucceed are compared by their errors alone.
var neverSucceed = []string{
	"NOSUCHCOMMAND", "CLIENT NOSUCH", "SCRIPT NOSUCH", "CLIENT SETINFO", "SCRIPT KILL", "CLUSTER", "READONLY", "READWRITE", "ASKING",
}

// elsewhere is compared on whole testbeds, by the test that is named.
var elsewhere = map[string]string{"WAIT": "testbed/sim: it needs replicas"}

// optionsOf are the options whose comparison is counted one by one.
var optionsOf = map[string][]string{
	"SET":       {"EX", "PX", "EXAT", "PXAT", "NX", "XX", "GET", "KEEPTTL"},
	"GETEX":     {"EX", "PX", "EXAT", "PXAT", "PERSIST"},
	"EXPIRE":    {"NX", "XX", "GT", "LT"},
	"PEXPIRE":   {"NX", "XX", "GT", "LT"},
	"EXPIREAT":  {"NX", "XX", "GT", "LT"},
	"PEXPIREAT": {"NX", "XX", "GT", "LT"},
}

// declared are all names that must be compared with success at least once.
func declared() []string {
	names := slices.Concat(slices.Collect(maps.Keys(arguments)), otherNames, inFragments)
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(neverSucceed, n) })
	for name, options := range optionsOf {
		for _, o := range options {
			names = append(names, name+" "+o)
		}
	}
	slices.Sort(names)
	return names
}

// names are those of arguments, in order.
var names = slices.Sorted(maps.Keys(arguments))

// command draws one command, rarely with an argument too few or too many.
func command(t *rapid.T) []string {
	return commandOf(t, rapid.SampledFrom(names).Draw(t, "command"))
}

func commandOf(t *rapid.T, name string) []string {
	args := strings.Fields(name)
	if rapid.IntRange(0, 9).Draw(t, "case") == 9 {
		args = strings.Fields(strings.ToLower(name))
	}
	g, ok := arguments[name]
	if !ok {
		g = others[name]
	}
	args = append(args, g(t)...)
	switch rapid.IntRange(0, 24).Draw(t, "arity") {
	case 23:
		if len(args) > len(strings.Fields(name)) {
			args = args[:len(args)-1]
		}
	case 24:
		args = append(args, "x")
	}
	return args
}
