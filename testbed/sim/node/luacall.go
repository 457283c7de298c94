package node

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// redisCall implements redis.call, or redis.pcall if protected.
func (n *Node) redisCall(state *lua.LState, protected bool) int {
	args, refusal := n.callArgs(state)
	mark := len(n.out)
	if refusal == "" {
		refusal = n.callFromScript(args)
	}
	if refusal == "" && n.out[mark] == '-' {
		refusal = string(n.out[mark+1 : len(n.out)-2])
	}
	if refusal != "" {
		n.out = n.out[:mark]
		if !protected {
			n.raise(state, refusal)
		}
		state.Push(errorTable(state, refusal))
		return 1
	}
	r := replyReader{n: n, state: state, rest: n.out[mark:]}
	value := r.value()
	n.out = n.out[:mark]
	state.Push(value)
	return 1
}

// callArgs returns a call's arguments. The next call reuses the slice.
func (n *Node) callArgs(state *lua.LState) (args []string, refusal string) {
	count := state.GetTop()
	if count == 0 {
		return nil, "ERR Please specify at least one argument for this redis lib call"
	}
	args = n.lua.args[:0]
	for i := 1; i <= count; i++ {
		switch v := state.Get(i).(type) {
		case lua.LString:
			args = append(args, string(v))
		case lua.LNumber:
			args = append(args, formatNumber(float64(v), 17))
		default:
			return nil, "ERR Lua redis lib command arguments must be strings or integers"
		}
	}
	n.lua.args = args
	return args, ""
}

// callFromScript runs a command of a script, or returns the error with which the command is
// refused.
func (n *Node) callFromScript(args []string) (refusal string) {
	c, _ := lookup(args)
	switch {
	case c == nil:
		return "ERR Unknown Redis command called from script"
	case !c.fits(args):
		return "ERR Wrong number of args calling Redis command from script"
	case c.Is(resp.NoScript):
		return "ERR This Redis command is not allowed from script"
	case c.run == nil && !c.is(typed):
		return n.unsupported(c.name)
	case c.Is(resp.Write) && n.lua.readOnly:
		return "ERR Write commands are not allowed from read-only scripts."
	case c.Is(resp.Write) && n.readOnly:
		return readOnlyError
	}
	n.run(n.current, c, args)
	return ""
}

// raise raises a Lua error in Redis's form.
func (n *Node) raise(state *lua.LState, text string) {
	n.noteLine(state)
	state.Error(errorTable(state, text), 1)
}

// noteLine stores the current line of the running script.
func (n *Node) noteLine(state *lua.LState) {
	if line := lineOf("ERR " + state.Where(1)); line > 0 {
		n.lua.line = line
	}
}

func errorTable(state *lua.LState, text string) *lua.LTable {
	t := state.NewTable()
	t.RawSetString("err", lua.LString(text))
	return t
}

// replyReader converts a reply to Lua.
type replyReader struct {
	n     *Node
	state *lua.LState
	rest  []byte
}

// line consumes and returns the rest of the line.
func (r *replyReader) line() []byte {
	for i, b := range r.rest {
		if b == '\r' {
			line := r.rest[:i]
			r.rest = r.rest[i+2:]
			return line
		}
	}
	return nil
}

func (r *replyReader) length() int {
	line := r.line()
	if len(line) == 1 {
		return int(line[0] - '0')
	}
	length, _ := strconv.Atoi(string(line))
	return length
}

func (r *replyReader) value() lua.LValue {
	kind := r.rest[0]
	r.rest = r.rest[1:]
	switch kind {
	case ':':
		v, _ := strconv.ParseInt(string(r.line()), 10, 64)
		return lua.LNumber(v)
	case '$':
		length := r.length()
		if length < 0 {
			return lua.LFalse
		}
		text := lua.LString(r.rest[:length])
		r.rest = r.rest[length+2:]
		return text
	case '+':
		return r.wrapped("ok", lua.LString(r.line()))
	case '-':
		return r.wrapped("err", lua.LString(r.line()))
	case '_':
		r.line()
		return lua.LNil
	case '#':
		return lua.LBool(r.line()[0] == 't')
	case ',':
		v, _ := strconv.ParseFloat(string(r.line()), 64)
		return r.wrapped("double", lua.LNumber(v))
	case '%':
		t := r.state.NewTable()
		for range r.length() {
			key := r.value()
			t.RawSet(key, r.value())
		}
		return r.wrapped("map", t)
	case '~':
		t := r.state.NewTable()
		for range r.length() {
			t.RawSet(r.value(), lua.LTrue)
		}
		return r.wrapped("set", t)
	default:
		return r.array()
	}
}

func (r *replyReader) array() lua.LValue {
	length := r.length()
	if length < 0 {
		return lua.LFalse
	}
	t := r.state.CreateTable(length, 0)
	for i := range length {
		t.RawSetInt(i+1, r.value())
	}
	return t
}

func (r *replyReader) wrapped(field string, v lua.LValue) *lua.LTable {
	t := r.state.NewTable()
	t.RawSetString(field, v)
	return t
}

// Limits of a script's return value, which may be endless: a table can contain itself.
const (
	maxReplyDepth = 1000
	maxReplyBytes = 64 << 20
)

// luaReply converts a script's value to a reply.
func (n *Node) luaReply(v lua.LValue, resp3 bool, depth int) {
	switch v := v.(type) {
	case lua.LString:
		n.bulk(string(v))
	case lua.LNumber:
		n.int(truncate(float64(v)))
	case lua.LBool:
		switch {
		case resp3 && n.resp3:
			n.line('#', map[bool]string{true: "t", false: "f"}[bool(v)])
		case bool(v):
			n.int(1)
		default:
			n.null()
		}
	case *lua.LTable:
		if depth > maxReplyDepth || len(n.out) > maxReplyBytes {
			n.fail("ERR reached lua stack limit")
			return
		}
		n.luaTable(v, resp3, depth)
	default:
		n.null()
	}
}

func (n *Node) luaTable(t *lua.LTable, resp3 bool, depth int) {
	if e, ok := t.RawGetString("err").(lua.LString); ok {
		n.fail(strings.TrimPrefix(cut(string(e), len(e)), "-"))
		return
	}
	if s, ok := t.RawGetString("ok").(lua.LString); ok {
		n.status(cut(string(s), len(s)))
		return
	}
	if d, ok := t.RawGetString("double").(lua.LNumber); ok {
		n.double(float64(d))
		return
	}
	if v, ok := t.RawGetString("big_number").(lua.LString); ok {
		n.bigNumber(string(v))
		return
	}
	if m, ok := t.RawGetString("map").(*lua.LTable); ok {
		n.maps(tableSize(m))
		each(m, func(k, v lua.LValue) {
			n.luaReply(k, resp3, depth+1)
			n.luaReply(v, resp3, depth+1)
		})
		return
	}
	if m, ok := t.RawGetString("set").(*lua.LTable); ok {
		kind := byte('*')
		if n.resp3 {
			kind = '~'
		}
		n.number(kind, int64(tableSize(m)))
		each(m, func(k, _ lua.LValue) { n.luaReply(k, resp3, depth+1) })
		return
	}
	length := 0
	for t.RawGetInt(length+1) != lua.LNil {
		length++
	}
	n.array(length)
	for i := 1; i <= length; i++ {
		n.luaReply(t.RawGetInt(i), resp3, depth+1)
	}
}

func tableSize(t *lua.LTable) (size int) {
	each(t, func(_, _ lua.LValue) { size++ })
	return size
}
