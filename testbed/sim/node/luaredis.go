package node

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// redisLibrary returns the fields of the Lua library "redis".
func (l *scripting) redisLibrary(state *lua.LState) map[string]lua.LValue {
	library := map[string]lua.LValue{
		"LOG_DEBUG": lua.LNumber(0), "LOG_VERBOSE": lua.LNumber(1), "LOG_NOTICE": lua.LNumber(2), "LOG_WARNING": lua.LNumber(3),
		"REPL_NONE": lua.LNumber(0), "REPL_AOF": lua.LNumber(1), "REPL_SLAVE": lua.LNumber(2), "REPL_REPLICA": lua.LNumber(2),
		"REPL_ALL": lua.LNumber(3), "REDIS_VERSION": lua.LString(Version), "REDIS_VERSION_NUM": lua.LNumber(0x7000f),
	}
	yes := func(*lua.LState) lua.LValue { return lua.LTrue }
	for name, f := range map[string]func(*lua.LState) lua.LValue{
		"call":               func(state *lua.LState) lua.LValue { return l.redisCall(state, false) },
		"pcall":              func(state *lua.LState) lua.LValue { return l.redisCall(state, true) },
		"sha1hex":            l.redisSha1hex,
		"error_reply":        redisErrorReply,
		"status_reply":       redisStatusReply,
		"replicate_commands": yes,
		"acl_check_cmd":      yes,
		"breakpoint":         func(*lua.LState) lua.LValue { return lua.LFalse },
	} {
		library[name] = returning(state, f)
	}
	nothing := func(*lua.LState) int { return 0 }
	for name, f := range map[string]lua.LGFunction{
		"log": l.redisLog, "setresp": l.redisSetresp, "set_repl": nothing, "debug": nothing,
	} {
		library[name] = state.NewFunction(f)
	}
	return library
}

func (l *scripting) redisSha1hex(state *lua.LState) lua.LValue {
	if state.GetTop() != 1 {
		l.raise(state, "ERR wrong number of arguments")
	}
	return lua.LString(sha1hex(text(state, state.Get(1))))
}

// redisLog checks its arguments and logs nothing.
func (l *scripting) redisLog(state *lua.LState) int {
	level, isNumber := state.Get(1).(lua.LNumber)
	switch {
	case state.GetTop() < 2:
		l.raise(state, "ERR redis.log() requires two arguments or more.")
	case !isNumber:
		l.raise(state, "ERR First argument must be a number (log level).")
	case level < 0 || level > 3:
		l.raise(state, "ERR Invalid debug level.")
	}
	return 0
}

func (l *scripting) redisSetresp(state *lua.LState) int {
	if state.GetTop() != 1 {
		l.raise(state, "ERR redis.setresp() requires one argument.")
	}
	version, _ := state.Get(1).(lua.LNumber)
	if version != 2 && version != 3 {
		l.raise(state, "ERR RESP version must be 2 or 3.")
	}
	l.node.resp3 = version == 3
	return 0
}

const wrongReplyArguments = "ERR wrong number or type of arguments"

func redisErrorReply(state *lua.LState) lua.LValue {
	message, ok := state.Get(1).(lua.LString)
	if !ok || state.GetTop() != 1 {
		return wrap(state, "err", lua.LString(wrongReplyArguments))
	}
	text := strings.TrimPrefix(string(message), "-")
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	return wrap(state, "err", lua.LString(text))
}

func redisStatusReply(state *lua.LState) lua.LValue {
	message, ok := state.Get(1).(lua.LString)
	if !ok || state.GetTop() != 1 {
		return wrap(state, "err", lua.LString(wrongReplyArguments))
	}
	return wrap(state, "ok", message)
}
