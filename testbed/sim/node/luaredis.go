package node

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// redisLibrary is the library "redis".
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

// baseFunctions are globals that differ from gopher-lua's.
func (n *Node) baseFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"error":          n.luaError,
		"pcall":          luaPcall,
		"tostring":       luaTostring,
		"rawset":         n.luaRawset,
		"setmetatable":   n.luaSetmetatable,
		"collectgarbage": pushZero,
		"gcinfo":         pushZero,
	}
}

func pushZero(state *lua.LState) int {
	state.Push(lua.LNumber(0))
	return 1
}

func (n *Node) luaError(state *lua.LState) int {
	n.noteLine(state)
	level := state.OptInt(2, 1)
	if caller, ok := state.GetStack(1); ok {
		if _, err := state.GetInfo("S", caller, lua.LNil); err == nil && caller.What == "G" {
			level = 0 // called by pcall: there is no line to name
		}
	}
	state.Error(state.Get(1), level)
	return 0
}

// luaPcall is pcall, for which Redis's error tables become their texts again.
func luaPcall(state *lua.LState) int {
	f := state.CheckAny(1)
	if f.Type() != lua.LTFunction && state.GetMetaField(f, "__call").Type() != lua.LTFunction {
		state.Push(lua.LFalse)
		state.Push(lua.LString("attempt to call a " + f.Type().String() + " value"))
		return 2
	}
	if err := state.PCall(state.GetTop()-1, lua.MultRet, nil); err != nil {
		state.Push(lua.LFalse)
		state.Push(caught(err))
		return 2
	}
	state.Insert(lua.LTrue, 1)
	return state.GetTop()
}

func caught(err error) lua.LValue {
	api, ok := err.(*lua.ApiError)
	if !ok {
		return lua.LString(err.Error())
	}
	if t, ok := api.Object.(*lua.LTable); ok {
		if text, ok := t.RawGetString("err").(lua.LString); ok {
			return text
		}
	}
	return api.Object
}

func luaTostring(state *lua.LState) int {
	state.Push(lua.LString(text(state, state.CheckAny(1))))
	return 1
}

// luaRawset and luaSetmetatable refuse what Redis keeps from being modified.
func (n *Node) luaRawset(state *lua.LState) int {
	t := state.CheckTable(1)
	if n.lua.isFixed(t) {
		n.noteLine(state)
		state.Error(lua.LString(readonlyTableError), 0)
	}
	state.RawSet(t, state.CheckAny(2), state.CheckAny(3))
	state.SetTop(1)
	return 1
}

func (n *Node) luaSetmetatable(state *lua.LState) int {
	t := state.CheckTable(1)
	state.CheckTypes(2, lua.LTNil, lua.LTTable)
	if n.lua.isFixed(t) {
		n.noteLine(state)
		state.Error(lua.LString(readonlyTableError), 0)
	}
	if state.GetMetaField(t, "__metatable") != lua.LNil {
		state.RaiseError("cannot change a protected metatable")
	}
	state.SetMetatable(t, state.Get(2))
	state.SetTop(1)
	return 1
}

// format is string.format, given tables and the like as tostring shows them.
func (n *Node) format(original lua.LValue) lua.LGFunction {
	return func(state *lua.LState) int {
		for i := 2; i <= state.GetTop(); i++ {
			switch state.Get(i).(type) {
			case lua.LString, lua.LNumber:
			default:
				state.Replace(i, lua.LString(text(state, state.Get(i))))
			}
		}
		state.Insert(original, 1)
		state.Call(state.GetTop()-1, 1)
		return 1
	}
}

// mathRandom is math.random on Redis's own generator.
func (n *Node) mathRandom(state *lua.LState) int {
	r := float64(n.lua.draw()%math.MaxInt32) / math.MaxInt32
	switch state.GetTop() {
	case 0:
		state.Push(lua.LNumber(r))
	case 1:
		high := state.CheckInt(1)
		if high < 1 {
			state.ArgError(1, "interval is empty")
		}
		state.Push(lua.LNumber(math.Floor(r*float64(high)) + 1))
	case 2:
		low, high := state.CheckInt(1), state.CheckInt(2)
		if low > high {
			state.ArgError(2, "interval is empty")
		}
		state.Push(lua.LNumber(math.Floor(r*float64(high-low+1)) + float64(low)))
	default:
		state.RaiseError("wrong number of arguments")
	}
	return 1
}

func (n *Node) mathRandomseed(state *lua.LState) int {
	seed := uint32(state.CheckInt(1))
	n.lua.random = uint64(seed)<<16 | 0x330e
	return 0
}
