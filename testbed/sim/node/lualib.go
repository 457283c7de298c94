package node

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// fixedTable is a table that scripts must leave as it is.
type fixedTable struct {
	table     *lua.LTable
	metatable lua.LValue
	fields    []field
}

type field struct{ key, value lua.LValue }

// globals of Redis's Lua that gopher-lua has. Its coroutines need goroutines, and
// are not among them.
var globals = []string{
	"_VERSION", "assert", "getmetatable", "ipairs", "load", "loadstring", "next", "pairs", "rawequal", "rawget",
	"select", "tonumber", "type", "unpack", "xpcall",
}

// openLua makes the Lua state.
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
	if l.budget.ended == nil {
		l.budget.ended = make(chan struct{})
		close(l.budget.ended)
	}
	l.budget.left = math.MaxInt
	state.SetContext(&l.budget)
	l.state, l.fixed = state, nil
	n.fillGlobals(state)
}

// fillGlobals gives the state what scripts may use, in an order that does not
// depend on Go's maps.
func (n *Node) fillGlobals(state *lua.LState) {
	old, global := state.G.Global, map[string]lua.LValue{}
	for _, name := range globals {
		global[name] = old.RawGetString(name)
	}
	for name, f := range n.baseFunctions() {
		global[name] = state.NewFunction(f)
	}
	texts := functions(old.RawGetString(lua.StringLibName), "__index")
	texts["format"] = state.NewFunction(n.format(texts["format"]))
	texts["rep"] = state.NewFunction(luaRep)
	numbers := functions(old.RawGetString(lua.MathLibName))
	numbers["random"], numbers["randomseed"] = state.NewFunction(n.mathRandom), state.NewFunction(n.mathRandomseed)
	readonly := sortedTable(state, map[string]lua.LValue{"__newindex": state.NewFunction(readonlyTable)})
	libraries := map[string]map[string]lua.LValue{
		"string": texts,
		"math":   numbers,
		"table":  functions(old.RawGetString(lua.TabLibName)),
		"redis":  n.redisLibrary(state),
		"cjson":  n.cjsonLibrary(state),
	}
	for name, library := range libraries {
		global[name] = n.lua.fix(sortedTable(state, library), readonly)
	}
	state.SetMetatable(lua.LString(""), n.lua.fix(sortedTable(state, map[string]lua.LValue{"__index": global["string"]}), readonly))

	g := sortedTable(state, global)
	g.RawSetString("_G", g)
	state.G.Global, state.Env = g, g
	for _, f := range global { // those that make functions hand their environment on
		if f, ok := f.(*lua.LFunction); ok {
			f.Env = g
		}
	}
	n.lua.fix(g, sortedTable(state, map[string]lua.LValue{
		"__index":    state.NewFunction(missingGlobal),
		"__newindex": state.NewFunction(readonlyTable),
	}))
	n.lua.strict = state.NewTable()
	n.lua.strict.Metatable = sortedTable(state, map[string]lua.LValue{"__index": g, "__newindex": state.NewFunction(readonlyTable)})
}

// fix notes what a table is like.
func (l *scripting) fix(t *lua.LTable, metatable *lua.LTable) *lua.LTable {
	t.Metatable = metatable
	f := fixedTable{table: t, metatable: metatable}
	each(t, func(k, v lua.LValue) { f.fields = append(f.fields, field{k, v}) })
	l.fixed = append(l.fixed, f)
	return t
}

// changed tells whether a script has changed a table that it must not.
func (l *scripting) changed() bool {
	return slices.ContainsFunc(l.fixed, func(f fixedTable) bool {
		if f.table.Metatable != f.metatable {
			return true
		}
		i, same := 0, true
		each(f.table, func(k, v lua.LValue) {
			if k == lua.LString("KEYS") || k == lua.LString("ARGV") {
				return // they are every script's own
			}
			same = same && i < len(f.fields) && f.fields[i] == field{k, v}
			i++
		})
		return !same || i != len(f.fields)
	})
}

// isFixed tells whether scripts must leave the table alone.
func (l *scripting) isFixed(t lua.LValue) bool {
	return slices.ContainsFunc(l.fixed, func(f fixedTable) bool { return lua.LValue(f.table) == t })
}

// functions lists a library without the given names.
func functions(library lua.LValue, without ...string) map[string]lua.LValue {
	all := map[string]lua.LValue{}
	t, ok := library.(*lua.LTable)
	if !ok {
		return all
	}
	for _, name := range keysOf(t) {
		if !slices.Contains(without, name) {
			all[name] = t.RawGetString(name)
		}
	}
	return all
}

// each visits a table's fields in the order in which they were added: gopher-lua's
// ForEach follows Go's maps.
func each(t *lua.LTable, visit func(k, v lua.LValue)) {
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		visit(k, v)
	}
}

func keysOf(t *lua.LTable) (names []string) {
	each(t, func(k, _ lua.LValue) {
		if name, ok := k.(lua.LString); ok {
			names = append(names, string(name))
		}
	})
	return names
}

// sortedTable makes a table whose order is that of the names.
func sortedTable(state *lua.LState, fields map[string]lua.LValue) *lua.LTable {
	t := state.NewTable()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		t.RawSetString(name, fields[name])
	}
	return t
}

func missingGlobal(state *lua.LState) int {
	state.RaiseError("Script attempted to access nonexistent global variable '%s'", state.Get(2).String())
	return 0
}

const readonlyTableError = "Attempt to modify a readonly table"

func readonlyTable(state *lua.LState) int {
	state.RaiseError(readonlyTableError)
	return 0
}

// luaRep is string.rep, which must not exhaust the memory.
func luaRep(state *lua.LState) int {
	text, times := state.CheckString(1), state.CheckInt(2)
	if times > 0 && len(text) > maxReplyBytes/times {
		state.RaiseError("resulting string too large")
	}
	state.Push(lua.LString(strings.Repeat(text, max(times, 0))))
	return 1
}

// text is tostring: addresses, which differ from run to run, are left out.
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
