package jepsen

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strings"

	"olympos.io/encoding/edn"

	"github.com/lockstorm/lockstorm/internal/wording"
)

// keys decodes the values of one EDN map, such as an entry. err is the first error.
type keys struct {
	m   map[string][]byte
	err error
}

func (k *keys) in(key string) bool { return k.m[key] != nil }

// has reports whether the key has a value other than nil.
func (k *keys) has(key string) bool { return k.in(key) && string(k.m[key]) != "nil" }

// any decodes a value, without its tags.
func (k *keys) any(key string) any {
	if !k.has(key) {
		return nil
	}
	v, err := decode(k.m[key])
	if err != nil && k.err == nil {
		k.err = fmt.Errorf(":%s: %w", key, err)
	}
	return plainly(v)
}

func (k *keys) number(key string) int64 {
	v := k.any(key)
	if v == nil {
		return 0
	}
	n, ok := whole(v)
	if !ok && k.err == nil {
		k.err = fmt.Errorf(":%s is %s, expected a whole number", key, wording.Excerpt(k.m[key]))
	}
	return n
}

// word returns the text of a keyword, a symbol or a string; "" for any other value.
func (k *keys) word(key string) string { return word(k.any(key)) }

// text returns a word or a number as text, any other value as written.
func (k *keys) text(key string) string {
	if !k.has(key) {
		return ""
	}
	raw := k.m[key]
	if v, err := decode(raw); err == nil && (scalar(v) != "" || raw[0] == '"') {
		return scalar(v)
	}
	return string(bytes.ToValidUTF8(raw, []byte("?")))
}

func word(v any) string {
	switch v := v.(type) {
	case edn.Keyword:
		return string(v)
	case edn.Symbol:
		return string(v)
	case string:
		return v
	}
	return ""
}

// whole returns v as an int64; false if v is no number, has a fraction or does not fit.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case *big.Int:
		return v.Int64(), v.IsInt64()
	case big.Int:
		return v.Int64(), v.IsInt64()
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<62
	}
	return 0, false
}

// plainly removes the tags of a value. It turns jepsen.independent's tuple into a vector
// even if it was written as a tagged map.
func plainly(v any) any {
	for {
		tag, ok := v.(edn.Tag)
		if !ok {
			return v
		}
		v = tag.Value
		if m, ok := v.(map[any]any); ok && strings.HasPrefix(tag.Tagname, "jepsen.independent") {
			return []any{either(m, "key", "k"), either(m, "value", "v")}
		}
	}
}

// either returns the value of the first of these keys that exists; nil if none exists.
func either(m map[any]any, keys ...edn.Keyword) any {
	for _, k := range keys {
		if v, ok := m[k]; ok {
			return v
		}
	}
	return nil
}

// numbers returns v as the state of a resource: one or several numbers; nil if v is anything else.
func numbers(v any) []int64 {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var all []int64
	for _, x := range list {
		n, ok := whole(x)
		if !ok {
			return nil
		}
		all = append(all, n)
	}
	return all
}
