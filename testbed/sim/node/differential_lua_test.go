package node_test

import (
	"strconv"

	"pgregory.net/rapid"
)

const (
	luaOne = "return 1"
	luaSet = `return redis.call("SET", KEYS[1], ARGV[1])`
)

// luaScripts are scripts that show how Redis runs scripts: conversions from and to Lua, errors, the
// sandbox and the libraries. Each script gets two keys and two arguments.
var luaScripts = []string{
	// Lua to RESP.
	luaOne, luaSet, "return 0", "return -1", "return 3.99", "return -3.99", "return 2^53", "return 1/0", "return 1/3", "return -0.0",
	"return 'text'", "return ''", `return "\0\255\r\n"`, "return nil", "return", "", "return false", "return true",
	"return {}", "return {1, 2, 3}", "return {1, nil, 3}", "return {nil, 2}", "return {1, false, 3}", "return {1, true}",
	"return {'a', {'b', {}}, 2.5}", "return {a = 1}", "return {1, a = 2}", "return 1, 2", "return {[1] = 'x', [3] = 'z'}",
	"return {ok = 'FINE'}", "return {err = 'MYERR text'}", "return {err = 'text'}", "return {err = ''}", "return {ok = 'a', err = 'ERR b'}",
	"return {{ok = 'FINE'}, {err = 'ERR inner'}}",
	"return redis.status_reply('FINE')", "return redis.error_reply('MYERR text')", "return redis.error_reply('-MYERR text')",
	"return redis.error_reply('text')", "return redis.status_reply(ARGV[1])", "return redis.error_reply()",
	"return {double = 3.5}", "return {map = {a = 1}}", "return {big_number = '123'}",
	"return print", "return coroutine.create(function() end)",
	// RESP to Lua.
	`return type(redis.call("GET", KEYS[1]))`, `return type(redis.call("HGET", KEYS[2], ARGV[1]))`, `return redis.call("GET", KEYS[1])`,
	`return redis.call("GET", KEYS[1]) == false`, `return redis.call("HGET", KEYS[2], "t1") or "none"`, `return redis.call("HMGET", KEYS[2], "t1", "t2", "read")`,
	`return redis.call("SET", KEYS[1], ARGV[1])["ok"]`, `return redis.call("SET", KEYS[1], ARGV[1], "NX")`,
	`return type(redis.call("SET", KEYS[1], ARGV[1], "NX"))`, `if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", 100000) then return 1 else return 0 end`,
	`return type(redis.call("SETNX", KEYS[1], ARGV[1]))`, `return type(redis.call("TIME"))`, `return redis.call("TIME")[1]`, `return #redis.call("TIME")`,
	`return type(redis.call("PTTL", KEYS[1]))`, `return redis.call("PTTL", KEYS[1])`, `return {redis.call("TTL", KEYS[1]), redis.call("EXISTS", KEYS[1], KEYS[2])}`,
	`return redis.call("TYPE", KEYS[1])`, `return redis.call("TYPE", KEYS[1])["ok"]`, `return #redis.call("HGETALL", KEYS[2])`,
	`return redis.call("PING")`, `return redis.call("ECHO", ARGV[1])`, `return redis.call("PUBLISH", "c1", ARGV[1])`,
	`redis.call("PUBLISH", "c1", "a") redis.call("PUBLISH", "c2", "b") return redis.call("PUBLISH", "c1", "c")`,
	// Lua to commands.
	`return redis.call("SET", KEYS[1], 1.5)`, `redis.call("SET", KEYS[1], 0.1) return redis.call("GET", KEYS[1])`,
	`redis.call("SET", KEYS[1], 10) return redis.call("GET", KEYS[1])`, `redis.call("SET", KEYS[1], 1e15) return redis.call("GET", KEYS[1])`,
	`redis.call("SET", KEYS[1], 2^53) return redis.call("GET", KEYS[1])`, `redis.call("SET", KEYS[1], 1e20) return redis.call("GET", KEYS[1])`,
	`redis.call("SET", KEYS[1], 1/3) return redis.call("GET", KEYS[1])`, `redis.call("SET", KEYS[1], -7) return redis.call("INCR", KEYS[1])`,
	`redis.call("SET", KEYS[1], ARGV[1] + 1) return redis.call("GET", KEYS[1])`, `return redis.call("HINCRBY", KEYS[2], ARGV[1], -1)`,
	`return redis.call("SET", KEYS[1], true)`, `return redis.call("SET", KEYS[1], nil)`, `return redis.call("SET", KEYS[1], {})`,
	`return redis.call("SET", KEYS[1])`, `return redis.call("GET")`, `return redis.call()`, `return redis.call("")`, `return redis.call("set", KEYS[1], "low")`,
	`return redis.call("PEXPIRE", KEYS[1], 100000.0)`, `return redis.call("PEXPIRE", KEYS[1], 1e5)`, `return redis.call("PEXPIRE", KEYS[1], 1.5)`,
	`return redis.call("EXPIRE", KEYS[1], "100")`, `return redis.call("PEXPIRE", KEYS[1], 0)`, `redis.call("PEXPIRE", KEYS[1], -1) return redis.call("EXISTS", KEYS[1])`,
	`redis.call("SET", KEYS[1], "x", "PX", 1) return redis.call("PTTL", KEYS[1])`,
	`redis.call("SET", KEYS[1], "x", "PX", 100000) redis.call("PERSIST", KEYS[1]) return redis.call("PTTL", KEYS[1])`,
	// Errors.
	`redis.call("SETNX", KEYS[1], ARGV[1]) redis.call("EXPIRE", KEYS[1], tonumber("1.5")) return 1`,
	`return redis.call("NOSUCH")`, `return redis.pcall("NOSUCH")`, `return redis.pcall("NOSUCH")["err"]`, `return redis.pcall("GET")["err"]`,
	`return redis.call("INCR", KEYS[2])`, `return redis.pcall("INCR", KEYS[2])`, `local r = redis.pcall("HGET", KEYS[1], "f") return type(r)`,
	`redis.call("SET", KEYS[1], "before") redis.call("HGET", KEYS[1], "f") redis.call("SET", KEYS[1], "after")`,
	`local r = redis.pcall("HGET", KEYS[1], "f") if type(r) == "table" and r.err then return "failed" end return r`,
	`local ok, e = pcall(redis.call, "HGET", KEYS[1], "f") return ok`, `local ok, e = pcall(redis.call, "HGET", KEYS[1], "f") return type(e)`,
	`local ok, e = pcall(function() error("x") end) return {ok and 1 or 0, type(e)}`, `local ok, e = pcall(error, {err = "MYERR x"}) return e`,
	`return redis.call("SUBSCRIBE", "c1")`, `return redis.call("MULTI")`, `return redis.call("EVAL", "return 1", 0)`, `return redis.call("WATCH", KEYS[1])`,
	`return redis.call("CLIENT", "ID")`, `return redis.call("SCRIPT", "FLUSH")`,
	"error('boom')", "error({err = 'MYERR boom'})", "error()", "return nosuch", "nosuch = 1", "function f() end return 1", "return nosuch.field", "return nil + 1",
	"return 'a' + 1", "return {} .. 'a'", "local t = nil return t.x", "nosuch()", "return #nil", "return 'a' < 1",
	"return (", "retrun 1", "return 1 1", "if", "return 'open",
	"redis.call = nil", "string.x = 1", "KEYS = {}", "KEYS[1] = 'other' return KEYS[1]", "_G.x = 1", "return _G.nosuch",
	// Libraries and the rest of the language.
	"return #KEYS + #ARGV", "return {KEYS[1], KEYS[2], ARGV[1], ARGV[2]}", "return KEYS[3]", "return ARGV[0]", "return ARGV[1] - 1", "return ARGV[1] .. 1", "return ARGV[1] == 1",
	"return tonumber(ARGV[1])", "return tostring(tonumber(ARGV[1]))", "return tonumber('0x10')", "return tonumber(' 5 ')", "return tonumber('5x')", "return tonumber('1e3')",
	"return tostring(1.5)", "return tostring(1e15)", "return tostring(100000000000000)", "return tostring(2^53)", "return tostring(-0.0)", "return tostring(1/0)", "return 1 .. ''", "return 0.1 .. ''",
	"return math.floor(3.7)", "return math.max(1, 5)", "return 7 % 3", "return -7 % 3", "return 2 ^ 10",
	"return string.format('%d %s %5.2f', 3, 'x', 1.005)", "return string.sub('abcdef', 2, -2)", "return string.upper('aé')", "return ('x'):rep(3)", "return string.find('a.b', '.', 1, true)", "return string.match('key:12', '%d+')", "return string.gsub('abc', 'b', 'x')", "return #'\\0a'", "return string.byte('\\255')", "return string.char(255)",
	"return table.concat({1, 2, 'x'}, ',')", "local t = {3, 1, 2} table.sort(t) return t", "return unpack({1, 2})", "return select('#', 1, nil, 3)", "return table.getn({1, 2})",
	"return cjson.encode({1, 2, 'x'})", "return cjson.encode({a = 1})", "return cjson.encode({})", "return cjson.encode(1.5)", "return cjson.encode({true, cjson.null})", "return cjson.decode('[1,2,{\"a\":\"b\"}]')[3]['a']", "return cjson.decode('{\"a\":1.5}').a * 2", "return cjson.decode('nonsense')",
	"return redis.sha1hex('')", "return redis.sha1hex(ARGV[1])", "return bit.band(7, 3)", "return bit.lshift(1, 4)", "return type(cmsgpack)", "return type(struct)", "return type(bit)", "return type(os)", "return type(os.clock())", "return type(io)", "return type(require)", "return type(loadstring)", "return loadstring('return 5')()", "return type(math.random())",
	"redis.log(redis.LOG_WARNING, 'x') return 1", "return redis.LOG_NOTICE", "return redis.replicate_commands()", "redis.set_repl(redis.REPL_ALL) return 1", "return type(redis.setresp)", "return _VERSION",
	"local n = 0 for i = 1, 10 do n = n + i end return n", "local function f(n) if n < 2 then return n end return f(n-1) + f(n-2) end return f(10)", "local t = setmetatable({}, {__index = function() return 5 end}) return t.x",
	"return 1700000000000001 .. '' .. 1/3", "return 010 + 1", "return tonumber('ff', 16)", "return type(tonumber('5x'))", "local ok, e = pcall(redis.call, 'NOSUCH') return e",
	`return cjson.encode(cjson.decode('{"a":[1,null,"x\/y"],"b":true}').a)`, `return cjson.decode(cjson.encode({'\255\0a\128é'}))[1]`, "return (pcall(cjson.decode, '[1]]'))",
	`redis.call("SET", KEYS[1], 1700000000000001) return redis.call("GET", KEYS[1])`, `redis.setresp(3) redis.call('HSET', KEYS[1], 'f', 'v') return redis.call('HGETALL', KEYS[1]).map.f`,
	"#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])", "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], 'v')", "return redis.call('BRPOP', 'l', 0)",
	"\nreturn redis.call('INCR', 'a', 'b')", "goto x ::x::",
	"goto done ::done:: return 1", "return 7 // 2", "return 1 & 3",
}

// luaCall draws a call of one of luaScripts, rarely with a wrong number of keys or without
// arguments.
func luaCall(t *rapid.T) []step {
	source := rapid.SampledFrom(luaScripts).Draw(t, "lua")
	s := step{session: session(t), args: []string{
		"EVAL", source, "2",
		rapid.SampledFrom([]string{"k1", "k1", "k2", "h1"}).Draw(t, "key"), rapid.SampledFrom([]string{"h1", "h1", "h2", "k1"}).Draw(t, "key"),
		rapid.SampledFrom(valuePool).Draw(t, "arg"), rapid.SampledFrom(valuePool).Draw(t, "arg"),
	}}
	switch rapid.IntRange(0, 30).Draw(t, "odd") {
	case 0:
		s.args[2] = rapid.SampledFrom(append([]string{"5", "6", "-2"}, oddIntegers...)).Draw(t, "numkeys")
	case 1:
		s.args = s.args[:2]
	case 2, 3:
		s.args[0], s.args[1] = "EVALSHA", rapid.SampledFrom([]string{sha(source), sha(source), "abc", ""}).Draw(t, "sha")
	case 4:
		s.args[1] = "-- " + strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "comment")) + "\n" + source
	}
	return []step{s}
}

// everyLua returns scripts of commands that call each of luaScripts: without existing keys,
// with keys of the right types, and with keys of the wrong types.
func everyLua() [][]step {
	var all [][]step
	for _, source := range luaScripts {
		var steps []step
		call := func(k, h, a string) {
			steps = append(steps, step{args: []string{"EVAL", source, "2", k, h, a, "2"}})
		}
		call("k1", "h1", "t1")
		steps = append(steps, step{args: []string{"SET", "k1", "5", "PX", "100000"}}, step{args: []string{"HSET", "h1", "t1", "1"}})
		call("k1", "h1", "t1")
		call("h1", "k1", "-7")
		all = append(all, steps)
	}
	return all
}
