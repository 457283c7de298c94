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

// open makes the Lua state.
func (l *scripting) open() {
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
	l.fillGlobals(state)
}

// returning makes a Lua function with one result.
func returning(state *lua.LState, f func(*lua.LState) lua.LValue) *lua.LFunction {
	return state.NewFunction(func(state *lua.LState) int {
		state.Push(f(state))
		return 1
	})
}

// fillGlobals fills the state with the globals of scripts, in an order that does not depend
// on Go's maps.
func (l *scripting) fillGlobals(state *lua.LState) {
	old, global := state.G.Global, map[string]lua.LValue{}
	for _, name := range globals {
		global[name] = old.RawGetString(name)
	}
	l.addBase(state, global)
	texts := functions(old.RawGetString(lua.StringLibName), "__index")
	texts["format"] = state.NewFunction(format(texts["format"]))
	texts["rep"], texts["upper"], texts["lower"] = returning(state, luaRep), returning(state, luaUpper), returning(state, luaLower)
	numbers := functions(old.RawGetString(lua.MathLibName))
	numbers["random"] = returning(state, l.mathRandom)
	numbers["randomseed"] = state.NewFunction(l.mathRandomseed)
	for name, library := range map[string]map[string]lua.LValue{
		"string": texts,
		"math":   numbers,
		"table":  functions(old.RawGetString(lua.TabLibName)),
		"redis":  l.redisLibrary(state),
		"cjson":  cjsonLibrary(state),
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

// addBase adds the global functions that differ from gopher-lua's.
func (l *scripting) addBase(state *lua.LState, global map[string]lua.LValue) {
	zero := func(*lua.LState) lua.LValue { return lua.LNumber(0) }
	for name, f := range map[string]func(*lua.LState) lua.LValue{
		textGlobal:       luaConcatenable,
		"collectgarbage": zero,
		"gcinfo":         zero,
		"rawget":         l.luaRawget,
		"tonumber":       luaTonumber,
		"tostring":       func(state *lua.LState) lua.LValue { return lua.LString(text(state, state.CheckAny(1))) },
	} {
		global[name] = returning(state, f)
	}
	next := state.NewFunction(l.luaNext)
	for name, f := range map[string]lua.LGFunction{
		"error":        l.luaError,
		"pairs":        l.pairs(next),
		"pcall":        luaPcall,
		"rawset":       l.luaRawset,
		"setmetatable": l.luaSetmetatable,
	} {
		global[name] = state.NewFunction(f)
	}
	global["next"] = next
}

func (l *scripting) luaError(state *lua.LState) int {
	l.noteLine(state)
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
func luaConcatenable(state *lua.LState) lua.LValue {
	if v, ok := state.Get(1).(lua.LNumber); ok {
		return lua.LString(formatNumber(float64(v), 14))
	}
	return state.Get(1)
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

func luaTonumber(state *lua.LState) lua.LValue {
	v, base := state.CheckAny(1), state.OptInt(2, 10)
	if n, ok := v.(lua.LNumber); ok && base == 10 {
		return n
	}
	switch v.(type) {
	case lua.LString, lua.LNumber:
	default:
		return lua.LNil
	}
	s := strings.ToLower(strings.Trim(text(state, v), " \t\n\v\f\r"))
	if base == 10 {
		if n, ok := number(s); ok {
			return lua.LNumber(n)
		}
		return lua.LNil
	}
	if base == 16 {
		s = strings.TrimPrefix(s, "0x")
	}
	if n, err := strconv.ParseUint(s, base, 64); err == nil && base >= 2 && base <= 36 {
		return lua.LNumber(n)
	}
	return lua.LNil
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
