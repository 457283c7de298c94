package node

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// redisCall implements redis.call, or redis.pcall if protected.
func (l *scripting) redisCall(state *lua.LState, protected bool) lua.LValue {
	n := l.node
	mark := len(n.out)
	defer func() { n.out = n.out[:mark] }()
	args, refusal := l.callArgs(state)
	if refusal == "" {
		refusal = l.callFromScript(args)
	}
	if refusal == "" && n.out[mark] == '-' {
		refusal = string(n.out[mark+1 : len(n.out)-2])
	}
	if refusal == "" {
		r := replyReader{state: state, rest: n.out[mark:]}
		return r.value()
	}
	if !protected {
		l.raise(state, refusal)
	}
	return wrap(state, "err", lua.LString(refusal))
}

// callArgs returns a call's arguments. The next call reuses the slice.
func (l *scripting) callArgs(state *lua.LState) (args []string, refusal string) {
	count := state.GetTop()
	if count == 0 {
		return nil, "ERR Please specify at least one argument for this redis lib call"
	}
	args = l.args[:0]
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
	l.args = args
	return args, ""
}

// callFromScript runs a command of a script, or returns the error with which the command is
// refused.
func (l *scripting) callFromScript(args []string) (refusal string) {
	c, _ := lookup(args)
	switch {
	case c == nil:
		return "ERR Unknown Redis command called from script"
	case !c.fits(args):
		return "ERR Wrong number of args calling Redis command from script"
	case c.Is(resp.NoScript):
		return "ERR This Redis command is not allowed from script"
	case c.run == nil:
		return l.node.lacks("the command '" + c.name + "'")
	case c.Is(resp.Write) && l.readOnly:
		return "ERR Write commands are not allowed from read-only scripts."
	case c.Is(resp.Write) && l.node.readOnly:
		return readOnlyError
	}
	l.node.run(l.node.current, c, args)
	return ""
}

// raise raises a Lua error in Redis's form.
func (l *scripting) raise(state *lua.LState, text string) {
	l.noteLine(state)
	state.Error(wrap(state, "err", lua.LString(text)), 1)
}

// noteLine stores the current line of the running script.
func (l *scripting) noteLine(state *lua.LState) {
	if line := lineOf("ERR " + state.Where(1)); line > 0 {
		l.line = line
	}
}

// wrap returns a table with one field.
func wrap(state *lua.LState, field string, v lua.LValue) *lua.LTable {
	t := state.NewTable()
	t.RawSetString(field, v)
	return t
}

// replyReader converts a reply to Lua.
type replyReader struct {
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
		return wrap(r.state, "ok", lua.LString(r.line()))
	case '-':
		return wrap(r.state, "err", lua.LString(r.line()))
	case '_':
		r.line()
		return lua.LNil
	case '#':
		return lua.LBool(r.line()[0] == 't')
	case ',':
		v, _ := strconv.ParseFloat(string(r.line()), 64)
		return wrap(r.state, "double", lua.LNumber(v))
	case '%':
		t := r.state.NewTable()
		for range r.length() {
			key := r.value()
			t.RawSet(key, r.value())
		}
		return wrap(r.state, "map", t)
	case '~':
		t := r.state.NewTable()
		for range r.length() {
			t.RawSet(r.value(), lua.LTrue)
		}
		return wrap(r.state, "set", t)
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

// Limits of a script's return value, which may be endless: a table can contain itself.
const (
	maxReplyDepth = 1000
	maxReplyBytes = 64 << 20
)

// lua converts a script's value to a reply. resp3 says whether the script chose RESP3.
func (r *reply) lua(v lua.LValue, resp3 bool, depth int) written {
	switch v := v.(type) {
	case lua.LString:
		return r.bulk(string(v))
	case lua.LNumber:
		return r.int(truncate(float64(v)))
	case lua.LBool:
		switch {
		case resp3 && r.resp3:
			return r.line('#', map[bool]string{true: "t", false: "f"}[bool(v)])
		case bool(v):
			return r.int(1)
		}
	case *lua.LTable:
		if depth > maxReplyDepth || len(r.out) > maxReplyBytes {
			return r.fail("ERR reached lua stack limit")
		}
		return r.luaTable(v, resp3, depth)
	}
	return r.null()
}

func (r *reply) luaTable(t *lua.LTable, resp3 bool, depth int) written {
	if e, ok := t.RawGetString("err").(lua.LString); ok {
		return r.fail(strings.TrimPrefix(cut(string(e), len(e)), "-"))
	}
	if s, ok := t.RawGetString("ok").(lua.LString); ok {
		return r.status(cut(string(s), len(s)))
	}
	if d, ok := t.RawGetString("double").(lua.LNumber); ok {
		return r.text(',', formatNumber(float64(d), 17))
	}
	if v, ok := t.RawGetString("big_number").(lua.LString); ok {
		return r.text('(', string(v))
	}
	if m, ok := t.RawGetString("map").(*lua.LTable); ok {
		r.maps(tableSize(m))
		each(m, func(k, v lua.LValue) {
			r.lua(k, resp3, depth+1)
			r.lua(v, resp3, depth+1)
		})
		return written{}
	}
	if m, ok := t.RawGetString("set").(*lua.LTable); ok {
		r.elements('~', tableSize(m))
		each(m, func(k, _ lua.LValue) { r.lua(k, resp3, depth+1) })
		return written{}
	}
	length := 0
	for t.RawGetInt(length+1) != lua.LNil {
		length++
	}
	r.array(length)
	for i := 1; i <= length; i++ {
		r.lua(t.RawGetInt(i), resp3, depth+1)
	}
	return written{}
}

func tableSize(t *lua.LTable) (size int) {
	each(t, func(_, _ lua.LValue) { size++ })
	return size
}
