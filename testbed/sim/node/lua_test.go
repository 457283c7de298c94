package node

import (
	"testing"
)

// eval runs a script on two keys and one argument.
func eval(s *Session, source string) string {
	reply, _ := s.Exec(start, []string{"EVAL", source, "2", "k1", "k2", "a1"})
	return line(reply)
}

// Redis would run these scripts for ever, or fail in other words.
func TestScriptsHaveLimits(t *testing.T) {
	for source, why := range map[string]string{
		"while true do end": "the simulated node ends a script after 5000000 instructions",
		"while true do pcall(function() while true do end end) end": "the simulated node ends a script after 5000000 instructions",
		"local function f() return 1 + f() end return f()":          "stack overflow",
		"return ('x'):rep(1e9)":                                     "resulting string too large",
		"local t = {} t[1] = t return t":                            "",
	} {
		s := newNode(t).Connect()
		want := "-ERR user_script:1: " + why + " script: " + sha1hex(source) + ", on @user_script:1."
		if got := eval(s, source); got != want && why != "" {
			t.Errorf("%s\ngot  %q\nwant %q", source, got, want)
		}
		if got := eval(s, "return 1"); got != ":1" {
			t.Errorf("after %s: got %q", source, got)
		}
	}
}

func TestScriptsAreForgotten(t *testing.T) {
	n := newNode(t)
	s := n.Connect()
	missing := []step{{0, "EVALSHA " + sha1hex("return 1") + " 0", "-NOSCRIPT No matching script. Please use EVAL."}, {0, "EVAL return_1 0", ":1"}}
	play(t, s, missing)
	if got := n.FlushScripts(); got != 1 {
		t.Errorf("flushed %d scripts, want 1", got)
	}
	play(t, s, missing)
	n.Restarted()
	play(t, s, missing)
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
