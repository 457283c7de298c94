package node

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// globals lists the globals that gopher-lua implements as Redis's Lua does. The list excludes
// coroutines, which would escape a script's budget.
var globals = []string{
	"_VERSION", "assert", "getmetatable", "ipairs", "load", "loadstring", "rawequal", "select", "type", "unpack", "xpcall",
}

func (n *Node) openLua() {
	l := &n.lua
	state := lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: 1000, RegistrySize: 1 << 13, RegistryMaxSize: 1 << 18, RegistryGrowStep: 1 << 13,
	})
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	l.budget.left = math.MaxInt
	state.SetContext(&l.budget)
	l.state, l.fixed, l.shields = state, nil, map[*lua.LTable]*lua.LTable{}
	n.fillGlobals(state)
}

// fillGlobals fills the state with the globals of scripts, in an order that does not depend
// on Go's maps.
func (n *Node) fillGlobals(state *lua.LState) {
	l, old, global := &n.lua, state.G.Global, map[string]lua.LValue{}
	for _, name := range globals {
		global[name] = old.RawGetString(name)
	}
	for name, f := range n.baseFunctions() {
		global[name] = state.NewFunction(f)
	}
	next := state.NewFunction(n.luaNext)
	global["next"], global["pairs"] = next, state.NewFunction(n.pairs(next))

	texts := functions(old.RawGetString(lua.StringLibName), "__index")
	texts["format"] = state.NewFunction(n.format(texts["format"]))
	texts["rep"], texts["upper"], texts["lower"] = state.NewFunction(luaRep), state.NewFunction(luaUpper), state.NewFunction(luaLower)
	numbers := functions(old.RawGetString(lua.MathLibName))
	numbers["random"], numbers["randomseed"] = state.NewFunction(n.mathRandom), state.NewFunction(n.mathRandomseed)
	for name, library := range map[string]map[string]lua.LValue{
		"string": texts,
		"math":   numbers,
		"table":  functions(old.RawGetString(lua.TabLibName)),
		"redis":  n.redisLibrary(state),
		"cjson":  n.cjsonLibrary(state),
	} {
		global[name] = l.shield(state, l.fix(sortedTable(state, library)))
	}
	state.SetMetatable(lua.LString(""), l.fix(sortedTable(state, map[string]lua.LValue{"__index": global["string"]})))

	g := sortedTable(state, global)
	state.G.Global, state.Env = g, g
	for _, f := range global { // the functions that f creates get f's environment
		if f, ok := f.(*lua.LFunction); ok {
			f.Env = g
		}
	}
	g.Metatable = l.fix(sortedTable(state, map[string]lua.LValue{
		"__index":    state.NewFunction(missingGlobal),
		"__newindex": state.NewFunction(readonlyTable),
	}))
	l.strict = l.shield(state, g)
	g.RawSetString("_G", l.strict)
	l.fix(g)
}

// baseFunctions returns the global functions that differ from gopher-lua's.
func (n *Node) baseFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		textGlobal:       luaConcatenable,
		"collectgarbage": pushZero,
		"error":          n.luaError,
		"gcinfo":         pushZero,
		"pcall":          luaPcall,
		"rawget":         n.luaRawget,
		"rawset":         n.luaRawset,
		"setmetatable":   n.luaSetmetatable,
		"tonumber":       luaTonumber,
		"tostring":       luaTostring,
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
			level = 0 // the caller is pcall, which has no line
		}
	}
	state.Error(state.Get(1), level)
	return 0
}

// luaPcall implements pcall. It converts Redis's error tables back to their texts.
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

// luaConcatenable implements textGlobal: it converts a number to text as Lua 5.1 does, and
// leaves other values alone.
func luaConcatenable(state *lua.LState) int {
	if v, ok := state.Get(1).(lua.LNumber); ok {
		state.Push(lua.LString(formatNumber(float64(v), 14)))
	}
	return 1
}

func luaTostring(state *lua.LState) int {
	state.Push(lua.LString(text(state, state.CheckAny(1))))
	return 1
}

// text implements tostring, without addresses, which differ from run to run.
func text(state *lua.LState, v lua.LValue) string {
	if state.GetMetaField(v, "__tostring") != lua.LNil {
		v = state.ToStringMeta(v)
	}
	switch v := v.(type) {
	case lua.LNumber:
		return formatNumber(float64(v), 14)
	case *lua.LTable, *lua.LFunction, *lua.LUserData:
		return fmt.Sprintf("%s: 0x0", v.Type())
	default:
		return v.String()
	}
}

func luaTonumber(state *lua.LState) int {
	v, base := state.CheckAny(1), state.OptInt(2, 10)
	if n, ok := v.(lua.LNumber); ok && base == 10 {
		state.Push(n)
		return 1
	}
	switch v.(type) {
	case lua.LString, lua.LNumber:
	default:
		state.Push(lua.LNil)
		return 1
	}
	s := strings.ToLower(strings.Trim(text(state, v), " \t\n\v\f\r"))
	if base != 10 {
		if base == 16 {
			s = strings.TrimPrefix(s, "0x")
		}
		if n, err := strconv.ParseUint(s, base, 64); err == nil && base >= 2 && base <= 36 {
			state.Push(lua.LNumber(n))
			return 1
		}
		state.Push(lua.LNil)
		return 1
	}
	if n, ok := number(s); ok {
		state.Push(lua.LNumber(n))
		return 1
	}
	state.Push(lua.LNil)
	return 1
}

// number parses hexadecimal integers, decimal numbers, inf and nan, as Lua 5.1 does with C's strtod,
// except for rare forms such as 0x1.8.
func number(s string) (float64, bool) {
	if strings.Contains(s, "_") {
		return 0, false
	}
	digits := strings.TrimLeft(s, "+-")
	if hex, ok := strings.CutPrefix(digits, "0x"); ok && !strings.Contains(hex, "p") {
		v, err := strconv.ParseUint(hex, 16, 64)
		if strings.HasPrefix(s, "-") {
			return -float64(v), err == nil
		}
		return float64(v), err == nil
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil || math.IsInf(v, 0) && strings.ContainsAny(digits, "0123456789")
}
