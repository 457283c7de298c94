package node

import (
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// fixedTable is a table that scripts must not change, with its original contents.
type fixedTable struct {
	table     *lua.LTable
	metatable lua.LValue
	fields    []field
}

type field struct{ key, value lua.LValue }

// fix records a table's present contents, so that changed notices if a script changes the table. It
// returns the table.
func (l *scripting) fix(t *lua.LTable) *lua.LTable {
	f := fixedTable{table: t, metatable: t.Metatable}
	each(t, func(k, v lua.LValue) { f.fields = append(f.fields, field{k, v}) })
	l.fixed = append(l.fixed, f)
	return t
}

// shield returns an empty table that reads through to t. Scripts see it in place of a table
// that Redis makes read-only.
func (l *scripting) shield(state *lua.LState, t *lua.LTable) *lua.LTable {
	shield := state.NewTable()
	shield.Metatable = l.fix(sortedTable(state, map[string]lua.LValue{
		"__index": t, "__newindex": state.NewFunction(readonlyTable), "__metatable": lua.LFalse,
	}))
	l.shields[l.fix(shield)] = t
	return shield
}

// changed reports whether a script has changed a fixed table.
func (l *scripting) changed() bool {
	return slices.ContainsFunc(l.fixed, func(f fixedTable) bool {
		if f.table.Metatable != f.metatable {
			return true
		}
		i, same := 0, true
		each(f.table, func(k, v lua.LValue) {
			if k == lua.LString("KEYS") || k == lua.LString("ARGV") {
				return // every script has its own KEYS and ARGV
			}
			same = same && i < len(f.fields) && f.fields[i] == field{k, v}
			i++
		})
		return !same || i != len(f.fields)
	})
}

// each visits a table's fields in the order of their insertion: gopher-lua's ForEach uses
// the random order of Go's maps.
func each(t *lua.LTable, visit func(k, v lua.LValue)) {
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		visit(k, v)
	}
}

// sortedTable returns a table with its fields in the order of their names.
func sortedTable(state *lua.LState, fields map[string]lua.LValue) *lua.LTable {
	t := state.NewTable()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		t.RawSetString(name, fields[name])
	}
	return t
}

// functions returns a library's fields by name, without the given names.
func functions(library lua.LValue, without ...string) map[string]lua.LValue {
	all := map[string]lua.LValue{}
	t, ok := library.(*lua.LTable)
	if !ok {
		return all
	}
	each(t, func(k, v lua.LValue) {
		if name, ok := k.(lua.LString); ok && !slices.Contains(without, string(name)) {
			all[string(name)] = v
		}
	})
	return all
}

const readonlyTableError = "Attempt to modify a readonly table"

func readonlyTable(state *lua.LState) int {
	state.RaiseError(readonlyTableError)
	return 0
}

func missingGlobal(state *lua.LState) int {
	state.RaiseError("Script attempted to access nonexistent global variable '%s'", state.Get(2).String())
	return 0
}

// luaRawset implements rawset. Like luaSetmetatable, it refuses tables that Redis protects.
func (l *scripting) luaRawset(state *lua.LState) int {
	t := state.CheckTable(1)
	l.checkWritable(state, t)
	state.RawSet(t, state.CheckAny(2), state.CheckAny(3))
	state.SetTop(1)
	return 1
}

func (l *scripting) luaSetmetatable(state *lua.LState) int {
	t := state.CheckTable(1)
	state.CheckTypes(2, lua.LTNil, lua.LTTable)
	l.checkWritable(state, t)
	if state.GetMetaField(t, "__metatable") != lua.LNil {
		state.RaiseError("cannot change a protected metatable")
	}
	state.SetMetatable(t, state.Get(2))
	state.SetTop(1)
	return 1
}

func (l *scripting) checkWritable(state *lua.LState, t *lua.LTable) {
	if slices.ContainsFunc(l.fixed, func(f fixedTable) bool { return f.table == t }) {
		l.noteLine(state)
		state.Error(lua.LString(readonlyTableError), 0)
	}
}

// luaNext implements next. It reads the table behind a shield.
func (l *scripting) luaNext(state *lua.LState) int {
	t := l.unshielded(state.CheckTable(1))
	k, v := t.Next(state.Get(2))
	if k == lua.LNil {
		state.Push(lua.LNil)
		return 1
	}
	state.Push(k)
	state.Push(v)
	return 2
}

// pairs implements pairs with the given function next.
func (l *scripting) pairs(next *lua.LFunction) lua.LGFunction {
	return func(state *lua.LState) int {
		t := state.CheckTable(1)
		state.Push(next)
		state.Push(l.unshielded(t))
		state.Push(lua.LNil)
		return 3
	}
}

// luaRawget implements rawget. It reads the table behind a shield.
func (l *scripting) luaRawget(state *lua.LState) lua.LValue {
	return state.RawGet(l.unshielded(state.CheckTable(1)), state.CheckAny(2))
}

func (l *scripting) unshielded(t *lua.LTable) *lua.LTable {
	if real := l.shields[t]; real != nil {
		return real
	}
	return t
}
