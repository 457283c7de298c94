package node

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// format returns Redis's string.format; original is gopher-lua's. Values other than strings and
// numbers are formatted as by tostring.
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

// luaRep implements string.rep, with a limit on the result's size.
func luaRep(state *lua.LState) int {
	text, times := state.CheckString(1), state.CheckInt(2)
	if times > 0 && len(text) > maxReplyBytes/times {
		state.RaiseError("resulting string too large")
	}
	state.Push(lua.LString(strings.Repeat(text, max(times, 0))))
	return 1
}

// luaUpper and luaLower convert only ASCII letters, as in C.
func luaUpper(state *lua.LState) int {
	state.Push(lua.LString(mapBytes(state.CheckString(1), 'a', 'z')))
	return 1
}

func luaLower(state *lua.LState) int {
	state.Push(lua.LString(mapBytes(state.CheckString(1), 'A', 'Z')))
	return 1
}

// mapBytes changes the case of the letters between low and high.
func mapBytes(s string, low, high byte) string {
	b := []byte(s)
	for i, c := range b {
		if low <= c && c <= high {
			b[i] = c ^ 0x20
		}
	}
	return string(b)
}

// mathRandom implements math.random with Redis's own generator.
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
