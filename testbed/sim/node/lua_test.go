package node

import (
	"strings"
	"testing"
)

// eval runs a script on two keys and one argument.
func eval(s *Session, source string) string {
	reply, _ := s.Exec(start, []string{"EVAL", source, "2", "k1", "k2", "a1"})
	return line(reply)
}

func TestScripts(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"truncates numbers", `return {3.99, -3.99, 2^53, 1/0}`, "*4 :3 :-3 :9007199254740992 :-9223372036854775808"},
		{"false is null, true is 1", `return {1, false, true, 'x'}`, "*4 :1 $-1 :1 $1 x"},
		{"nil ends a table", `return {1, nil, 3}`, "*1 :1"},
		{"null is false", `return {tostring(redis.call('GET', KEYS[1])), type(redis.call('HGET', KEYS[1], 'f'))}`, "*2 $5 false $7 boolean"},
		{"status", `return redis.call('SET', KEYS[1], ARGV[1])`, "+OK"},
		{"status table", `return redis.call('SET', KEYS[1], ARGV[1]).ok`, "$2 OK"},
		{"nested arrays", `redis.call('RPUSH', KEYS[1], 1, 2) return {redis.call('LRANGE', KEYS[1], 0, -1), 'x'}`, "*2 *2 $1 1 $1 2 $1 x"},
		{"numbers as arguments", `redis.call('SET', KEYS[1], 0.1) return redis.call('GET', KEYS[1])`, "$19 0.10000000000000001"},
		{"whole numbers as arguments", `redis.call('SET', KEYS[1], 1700000000000001) return redis.call('GET', KEYS[1])`, "$16 1700000000000001"},
		{"concatenates as Lua 5.1", `return 1700000000000001 .. '' .. 1/3`, "$23 1.7e+150.33333333333333"},
		{"literals are decimal", `return 010 + 1`, ":11"},
		{"tonumber", `return {tonumber('1e3'), tonumber('0x10'), tonumber(' 5 '), tonumber('ff', 16), type(tonumber('5x'))}`, "*5 :1000 :16 :5 :255 $3 nil"},
		{"error reply", `return redis.error_reply('MYERR text')`, "-MYERR text"},
		{"error reply without a code", `return redis.error_reply('text')`, "-ERR text"},
		{"caught error", `local ok, e = pcall(redis.call, 'NOSUCH') return e`, "$44 ERR Unknown Redis command called from script"},
		{"pcall", `redis.call('SET', KEYS[1], 'v') return redis.pcall('INCR', KEYS[1]).err`, "$43 ERR value is not an integer or out of range"},
		{"sha1hex", `return redis.sha1hex('')`, "$40 da39a3ee5e6b4b0d3255bfef95601890afd80709"},
		{"keeps the order of fields", `local t = {} for k in pairs({b=1, a=2, c=3}) do t[#t+1] = k end return t`, "*3 $1 b $1 a $1 c"},
		{"JSON", `local t = cjson.decode('{"a":[1,null,"x\/y"],"b":true}') return cjson.encode({t.a, t.b, t.a[2] == cjson.null})`, `$27 [[1,null,"x\/y"],true,true]`},
		{"JSON of bytes", `return cjson.decode(cjson.encode({'\255\0a\128é'}))[1] == '\255\0a\128é' and 'same' or 'other'`, "$4 same"},
		{"JSON with more behind it", `return (pcall(cjson.decode, '[1]]'))`, "$-1"},
		{"time", `return redis.call('TIME')`, "*2 $9 946684800 $1 0"},
		{"no addresses", `return tostring({})`, "$10 table: 0x0"},
		{"RESP3", `redis.setresp(3) redis.call('HSET', KEYS[1], 'f', 'v') return redis.call('HGETALL', KEYS[1]).map.f`, "$1 v"},
		{"flags", "#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])", "$-1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := eval(newNode(t).Connect(), test.source)
			if got != test.want {
				t.Errorf("%s\ngot  %q\nwant %q", test.source, got, test.want)
			}
		})
	}
}

func TestScriptErrors(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"\nreturn redis.call('INCR', 'a', 'b')", "-ERR Wrong number of args calling Redis command from script script: $SHA, on @user_script:2."},
		{"redis.call('SET', KEYS[1], 'v')\nreturn redis.call('HGET', KEYS[1], 'f')", "-WRONGTYPE Operation against a key holding the wrong kind of value script: $SHA, on @user_script:2."},
		{"error('boom')", "-ERR user_script:1: boom script: $SHA, on @user_script:1."},
		{"error({err = 'MYERR boom'})", "-MYERR boom script: $SHA, on @user_script:1."},
		{"return nosuch", "-ERR user_script:1: Script attempted to access nonexistent global variable 'nosuch' script: $SHA, on @user_script:1."},
		{"nosuch = 1", "-ERR user_script:1: Attempt to modify a readonly table script: $SHA, on @user_script:1."},
		{"redis.call = nil", "-ERR user_script:1: Attempt to modify a readonly table script: $SHA, on @user_script:1."},
		{"return redis.call('EVAL', 'return 1', 0)", "-ERR This Redis command is not allowed from script script: $SHA, on @user_script:1."},
		{"return redis.call('BRPOP', 'l', 0)", "-ERR This Redis command is not allowed from script script: $SHA, on @user_script:1."},
		{"#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], 'v')", "-ERR Write commands are not allowed from read-only scripts. script: $SHA, on @user_script:2."},
		{"return (", "-ERR Error compiling script (new function): user_script:1: syntax error near '<eof>'"},
		{"goto x ::x::", "-ERR Error compiling script (new function): user_script:1: '=' expected near 'x'"},
		{"while true do end", "-ERR user_script:1: the simulated node ends a script after 5000000 instructions script: $SHA, on @user_script:1."},
		{"while true do pcall(function() while true do end end) end", "-ERR user_script:1: the simulated node ends a script after 5000000 instructions script: $SHA, on @user_script:1."},
		{"local function f() return 1 + f() end return f()", "-ERR user_script:1: stack overflow script: $SHA, on @user_script:1."},
		{"local t = {} t[1] = t return t", ""},
		{"return ('x'):rep(1e9)", "-ERR user_script:1: resulting string too large script: $SHA, on @user_script:1."},
	} {
		s := newNode(t).Connect()
		want := strings.ReplaceAll(test.want, "$SHA", sha1hex(test.source))
		if got := eval(s, test.source); got != want && want != "" {
			t.Errorf("%s\ngot  %q\nwant %q", test.source, got, want)
		}
		if got := eval(s, "return 1"); got != ":1" {
			t.Errorf("after %s: got %q", test.source, got)
		}
	}
}

func TestScriptCache(t *testing.T) {
	n := newNode(t)
	s := n.Connect()
	sha := sha1hex("return 1")
	steps := []step{
		{0, "EVALSHA " + sha + " 0", "-" + "NOSCRIPT No matching script. Please use EVAL."},
		{0, "SCRIPT LOAD return_1", "$40 " + sha},
		{0, "EVALSHA " + strings.ToUpper(sha) + " 0", ":1"},
		{0, "SCRIPT FLUSH", "+OK"},
		{0, "SCRIPT EXISTS " + sha, "*1 :0"},
		{0, "EVAL return_1 0", ":1"},
		{0, "EVALSHA " + sha + " 0", ":1"},
	}
	play(t, s, steps)
	if got := n.FlushScripts(); got != 1 {
		t.Errorf("flushed %d scripts, want 1", got)
	}
	play(t, s, steps)
	n.Restarted()
	play(t, s, steps)
}

// No script may see a change that an earlier script made to the Lua state.
func TestScriptsLeaveNothingBehind(t *testing.T) {
	const probe = `local t = {}
for k, v in pairs(_G) do t[#t+1] = k .. type(v) if type(v) == 'table' and k ~= '_G' then for f, x in pairs(v) do t[#t+1] = k .. '.' .. f .. type(x) end end end
t[#t+1] = tostring(getmetatable(redis)) t[#t+1] = ('x'):upper() t[#t+1] = tostring(#KEYS)
return table.concat(t, ' ')`
	clean := eval(newNode(t).Connect(), probe)
	for _, vandal := range []string{
		"foo = 1", "redis = nil", "string.x = 1", "string.upper = nil", "_G.x = 1", "_G.redis = nil", "rawset(_G, 'x', 1)", "rawset(string, 'upper', nil)",
		"setmetatable(_G, nil)", "setmetatable(string, {})", "getmetatable('').__index = nil", "getmetatable('').__index = {upper = string.lower}",
		"table.insert(string, 'x')", "table.insert(_G, 'x')", "table.insert(KEYS, 'x')", "KEYS = 5", "ARGV.x = 1", "loadstring('redis = 1')()",
		"for k, v in pairs(_G) do pcall(rawset, v, 'x', 1) end", "local m = getmetatable(redis) if m then m.__index = {} end", "table.sort(redis)",
		"local f = redis.call redis.call = function() return f('PING') end", "cjson.null = 5",
	} {
		s := newNode(t).Connect()
		eval(s, vandal)
		if got := eval(s, probe); got != clean {
			t.Errorf("after %q:\ngot  %s\nwant %s", vandal, got, clean)
		}
	}
}

func TestRandomNumbersAreRedisOwnAndBeginAnewWithTheNode(t *testing.T) {
	n := newNode(t)
	// The first random numbers of a fresh redis-server 7.0.15.
	const first = "*3 $16 0.39646477363839 $16 0.84048536971234 :36"
	for range 2 {
		got := eval(n.Connect(), "return {tostring(math.random()), tostring(math.random()), math.random(100)}")
		if got != first {
			t.Errorf("got %q, want %q", got, first)
		}
		n.Reset()
	}
}
