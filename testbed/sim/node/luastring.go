package node

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// format returns Redis's string.format; original is gopher-lua's. Values other than strings and
// numbers are formatted as by tostring.
func format(original lua.LValue) lua.LGFunction {
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

// luaRep implements string.rep, with a limit on the result's size.
func luaRep(state *lua.LState) lua.LValue {
	text, times := state.CheckString(1), state.CheckInt(2)
	if times > 0 && len(text) > maxReplyBytes/times {
		state.RaiseError("resulting string too large")
	}
	return lua.LString(strings.Repeat(text, max(times, 0)))
}

// luaUpper and luaLower convert only ASCII letters, as in C.
func luaUpper(state *lua.LState) lua.LValue { return mapBytes(state.CheckString(1), 'a', 'z') }
func luaLower(state *lua.LState) lua.LValue { return mapBytes(state.CheckString(1), 'A', 'Z') }

// mapBytes changes the case of the letters between low and high.
func mapBytes(s string, low, high byte) lua.LString {
	b := []byte(s)
	for i, c := range b {
		if low <= c && c <= high {
			b[i] = c ^ 0x20
		}
	}
	return lua.LString(b)
}

// mathRandom implements math.random with Redis's own generator.
func (l *scripting) mathRandom(state *lua.LState) lua.LValue {
	r := float64(l.draw()%math.MaxInt32) / math.MaxInt32
	low, high := 1, 0
	switch state.GetTop() {
	case 0:
		return lua.LNumber(r)
	case 1:
		high = state.CheckInt(1)
	case 2:
		low, high = state.CheckInt(1), state.CheckInt(2)
	default:
		state.RaiseError("wrong number of arguments")
	}
	if low > high {
		state.ArgError(state.GetTop(), "interval is empty")
	}
	return lua.LNumber(math.Floor(r*float64(high-low+1)) + float64(low))
}

func (l *scripting) mathRandomseed(state *lua.LState) int {
	l.random = uint64(uint32(state.CheckInt(1)))<<16 | 0x330e
	return 0
}
