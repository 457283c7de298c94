package node

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// maxJSONDepth is cjson's limit of nesting.
const maxJSONDepth = 1000

// jsonError is an error with cjson's text.
type jsonError string

// Error implements error.
func (e jsonError) Error() string { return string(e) }

// cjsonLibrary returns the library "cjson": encode, decode and null.
func cjsonLibrary(state *lua.LState) map[string]lua.LValue {
	null := state.NewUserData()
	return map[string]lua.LValue{
		"null": null,
		"encode": returning(state, func(state *lua.LState) lua.LValue {
			var b strings.Builder
			if err := encodeJSON(&b, state.CheckAny(1), null, 0); err != nil {
				state.RaiseError("%s", err.Error())
			}
			return lua.LString(b.String())
		}),
		"decode": returning(state, func(state *lua.LState) lua.LValue {
			v, err := decodeJSON(state, state.CheckString(1), null)
			if err != nil {
				state.RaiseError("%s", err.Error())
			}
			return v
		}),
	}
}

func encodeJSON(b *strings.Builder, v, null lua.LValue, depth int) error {
	switch v := v.(type) {
	case *lua.LNilType:
		b.WriteString("null")
	case lua.LBool:
		b.WriteString(strconv.FormatBool(bool(v)))
	case lua.LNumber:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return jsonError("Cannot serialise number: must not be NaN or Inf")
		}
		b.WriteString(formatNumber(float64(v), 14))
	case lua.LString:
		quoteJSON(b, string(v))
	case *lua.LTable:
		if depth >= maxJSONDepth || b.Len() > maxReplyBytes {
			return jsonError(fmt.Sprintf("Cannot serialise, excessive depth (%d)", depth+1))
		}
		return encodeTable(b, v, null, depth+1)
	default:
		if v != null {
			return jsonError(fmt.Sprintf("Cannot serialise %s: type not supported", v.Type()))
		}
		b.WriteString("null")
	}
	return nil
}

// encodeTable writes an array if the table has keys and all are positive integers, else an object.
func encodeTable(b *strings.Builder, t *lua.LTable, null lua.LValue, depth int) error {
	size, last := 0, 0
	each(t, func(k, _ lua.LValue) {
		i, ok := k.(lua.LNumber)
		if !ok || i < 1 || float64(i) != math.Trunc(float64(i)) {
			last = -1
		} else if last >= 0 {
			last = max(last, int(i))
		}
		size++
	})
	if last > 0 {
		if last > 10 && last > 2*size {
			return jsonError("Cannot serialise table: excessively sparse array")
		}
		b.WriteByte('[')
		for i := 1; i <= last; i++ {
			if i > 1 {
				b.WriteByte(',')
			}
			if err := encodeJSON(b, t.RawGetInt(i), null, depth); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	return encodeObject(b, t, null, depth)
}

func encodeObject(b *strings.Builder, t *lua.LTable, null lua.LValue, depth int) error {
	var failed error
	first := true
	b.WriteByte('{')
	each(t, func(k, v lua.LValue) {
		if failed != nil {
			return
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		switch k := k.(type) {
		case lua.LString:
			quoteJSON(b, string(k))
		case lua.LNumber:
			quoteJSON(b, formatNumber(float64(k), 14))
		default:
			failed = jsonError("Cannot serialise table: table key must be a number or string")
			return
		}
		b.WriteByte(':')
		failed = encodeJSON(b, v, null, depth)
	})
	b.WriteByte('}')
	return failed
}

func quoteJSON(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '/':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 0x20 && c != 0x7f:
			b.WriteByte(c)
		case c == '\b':
			b.WriteString(`\b`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\f':
			b.WriteString(`\f`)
		case c == '\r':
			b.WriteString(`\r`)
		default:
			fmt.Fprintf(b, `\u%04x`, c)
		}
	}
	b.WriteByte('"')
}

// decodeJSON decodes JSON text into Lua values, with fields in the order of the text.
func decodeJSON(state *lua.LState, s string, null lua.LValue) (lua.LValue, error) {
	d := json.NewDecoder(strings.NewReader(shielded(s)))
	v, err := decodeValue(state, d, null, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, jsonError("Expected the end but found invalid token")
	}
	return v, nil
}

func decodeValue(state *lua.LState, d *json.Decoder, null lua.LValue, depth int) (lua.LValue, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case string:
		return lua.LString(unshielded(token)), nil
	case float64:
		return lua.LNumber(token), nil
	case bool:
		return lua.LBool(token), nil
	case nil:
		return null, nil
	}
	if depth >= maxJSONDepth {
		return nil, jsonError("Found too many nested data structures")
	}
	t := state.NewTable()
	for i := 1; d.More(); i++ {
		var key lua.LValue = lua.LNumber(i)
		if token == json.Delim('{') {
			if key, err = decodeValue(state, d, null, depth+1); err != nil {
				return nil, err
			}
		}
		v, err := decodeValue(state, d, null, depth+1)
		if err != nil {
			return nil, err
		}
		t.RawSet(key, v)
	}
	_, err = d.Token()
	return t, err
}

// shield is added to a byte that belongs to no character (UTF-8), so that it becomes one of a private plane:
// package json would replace the byte, and cjson keeps it.
const shield = 0x10F000

// shielded returns the text with each byte that belongs to no character shielded.
func shielded(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			r = shield + rune(s[0])
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// unshielded undoes shielded.
func unshielded(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= shield && r <= shield+0xFF {
			b.WriteByte(byte(r - shield))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
