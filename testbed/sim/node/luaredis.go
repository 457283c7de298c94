package node

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// redisLibrary returns the fields of the Lua library "redis".
func (n *Node) redisLibrary(state *lua.LState) map[string]lua.LValue {
	library := map[string]lua.LValue{
		"LOG_DEBUG": lua.LNumber(0), "LOG_VERBOSE": lua.LNumber(1), "LOG_NOTICE": lua.LNumber(2), "LOG_WARNING": lua.LNumber(3),
		"REPL_NONE": lua.LNumber(0), "REPL_AOF": lua.LNumber(1), "REPL_SLAVE": lua.LNumber(2), "REPL_REPLICA": lua.LNumber(2),
		"REPL_ALL": lua.LNumber(3), "REDIS_VERSION": lua.LString(Version), "REDIS_VERSION_NUM": lua.LNumber(0x7000f),
	}
	for name, f := range map[string]lua.LGFunction{
		"call":               func(state *lua.LState) int { return n.redisCall(state, false) },
		"pcall":              func(state *lua.LState) int { return n.redisCall(state, true) },
		"sha1hex":            n.redisSha1hex,
		"log":                n.redisLog,
		"setresp":            n.redisSetresp,
		"error_reply":        redisErrorReply,
		"status_reply":       redisStatusReply,
		"replicate_commands": pushTrue,
		"acl_check_cmd":      pushTrue,
		"set_repl":           func(*lua.LState) int { return 0 },
		"breakpoint":         func(state *lua.LState) int { state.Push(lua.LFalse); return 1 },
		"debug":              func(*lua.LState) int { return 0 },
	} {
		library[name] = state.NewFunction(f)
	}
	return library
}

func pushTrue(state *lua.LState) int {
	state.Push(lua.LTrue)
	return 1
}

func (n *Node) redisSha1hex(state *lua.LState) int {
	if state.GetTop() != 1 {
		n.raise(state, "ERR wrong number of arguments")
	}
	state.Push(lua.LString(sha1hex(text(state, state.Get(1)))))
	return 1
}

// redisLog checks its arguments and logs nothing.
func (n *Node) redisLog(state *lua.LState) int {
	level, isNumber := state.Get(1).(lua.LNumber)
	switch {
	case state.GetTop() < 2:
		n.raise(state, "ERR redis.log() requires two arguments or more.")
	case !isNumber:
		n.raise(state, "ERR First argument must be a number (log level).")
	case level < 0 || level > 3:
		n.raise(state, "ERR Invalid debug level.")
	}
	return 0
}

func (n *Node) redisSetresp(state *lua.LState) int {
	if state.GetTop() != 1 {
		n.raise(state, "ERR redis.setresp() requires one argument.")
	}
	version, _ := state.Get(1).(lua.LNumber)
	if version != 2 && version != 3 {
		n.raise(state, "ERR RESP version must be 2 or 3.")
	}
	n.resp3 = version == 3
	return 0
}

const wrongReplyArguments = "ERR wrong number or type of arguments"

func redisErrorReply(state *lua.LState) int {
	message, ok := state.Get(1).(lua.LString)
	if !ok || state.GetTop() != 1 {
		state.Push(errorTable(state, wrongReplyArguments))
		return 1
	}
	text := strings.TrimPrefix(string(message), "-")
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	state.Push(errorTable(state, text))
	return 1
}

func redisStatusReply(state *lua.LState) int {
	message, ok := state.Get(1).(lua.LString)
	if !ok || state.GetTop() != 1 {
		state.Push(errorTable(state, wrongReplyArguments))
		return 1
	}
	t := state.NewTable()
	t.RawSetString("ok", message)
	state.Push(t)
	return 1
}
