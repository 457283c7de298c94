package node_test

import (
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// Arguments are drawn from these pools. The pools are small, so that commands often use the
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
	// Most expiries in the future outlast any script of commands. The fragment short and the
	// test edges compare what happens when a key expires.
	milliPool  = []string{"100000", "60000", "100499", "100500", "1", "0", "-1", "-100000"}
	secondPool = []string{"100", "60", "0", "-1", "-100"}
	oddLives   = []string{"abc", "", "1.5", "9223372036854775807", "9223372036854775", "-9223372036854775808", "9223372036854775808", "99999999999999"}
	atMillis   = []string{"@ms100000", "@ms+60000", "@ms-1", "@ms-100000", "0", "-1", "1"}
	atSeconds  = []string{"@s100", "@s+60", "@s-10", "0", "-1", "1"}
)

type gen func(*rapid.T) []string

// from returns a generator that draws one argument from pool or, in one of ten cases, from
// odd.
func from(pool []string, odd ...string) gen {
	return func(t *rapid.T) []string {
		if len(odd) > 0 && rapid.IntRange(0, 9).Draw(t, "odd") == 9 {
			return []string{rapid.SampledFrom(odd).Draw(t, "arg")}
		}
		return []string{rapid.SampledFrom(pool).Draw(t, "arg")}
	}
}

// all returns a generator that draws from each of gens, in this order.
func all(gens ...gen) gen {
	return func(t *rapid.T) []string {
		var args []string
		for _, g := range gens {
			args = append(args, g(t)...)
		}
		return args
	}
}

// some returns a generator that draws from g several times: from least to most times.
func some(g gen, least, most int) gen {
	return func(t *rapid.T) []string {
		var args []string
		for range rapid.IntRange(least, most).Draw(t, "n") {
			args = append(args, g(t)...)
		}
		return args
	}
}

// oneOf returns a generator that draws from one of gens.
func oneOf(gens ...gen) gen {
	return func(t *rapid.T) []string { return gens[rapid.IntRange(0, len(gens)-1).Draw(t, "which")](t) }
}

// word returns a generator of the argument w, sometimes in lower case.
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
	// which draws conditions of EXPIRE, valid and invalid ones.
	which = oneOf(none, none, word("NX"), word("XX"), word("GT"), word("LT"), all(word("NX"), word("GT")), all(word("GT"), word("LT")), all(word("XX"), word("GT")), word("BAD"))
	life  = oneOf(all(word("EX"), seconds), all(word("PX"), millis), all(word("EXAT"), atS), all(word("PXAT"), atMs))
)

// arguments holds generators of arguments, by command, for the commands that the fragment single
// draws. Recipes may send other commands; recordRecipes finds these by running the recipes.
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

// inFragments lists the commands that are not drawn as single commands, but in fragments of
// their own.
var inFragments = []string{
	"MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH", "EVAL", "EVALSHA",
	"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "HELLO",
}

// neverSucceed lists the commands that always fail. Only their errors are compared.
var neverSucceed = []string{
	"NOSUCHCOMMAND", "CLIENT NOSUCH", "SCRIPT NOSUCH", "CLIENT SETINFO", "SCRIPT KILL", "CLUSTER", "READONLY", "READWRITE", "ASKING",
}

// elsewhere lists the commands that other tests compare on whole testbeds, with the package of
// these tests and the reason.
var elsewhere = map[string]string{"WAIT": "testbed/sim: it needs replicas"}

// optionsOf lists, by command, the options that the coverage counts separately.
var optionsOf = map[string][]string{
	"SET":       {"EX", "PX", "EXAT", "PXAT", "NX", "XX", "GET", "KEEPTTL"},
	"GETEX":     {"EX", "PX", "EXAT", "PXAT", "PERSIST"},
	"EXPIRE":    {"NX", "XX", "GT", "LT"},
	"PEXPIRE":   {"NX", "XX", "GT", "LT"},
	"EXPIREAT":  {"NX", "XX", "GT", "LT"},
	"PEXPIREAT": {"NX", "XX", "GT", "LT"},
}

// declared returns the names of all commands and options for which at least one successful
// reply must be compared.
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

var names = slices.Sorted(maps.Keys(arguments))

// command draws one command of arguments, sometimes with one argument too few or too many.
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
