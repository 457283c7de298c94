package jepsen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"olympos.io/encoding/edn"
)

// The keys :lost and :window of an entry hold a history.Lost and a history.Window: the members of
// their JSON, with keywords for names, such as {:id 1, :hits 3}.

// ednOf returns a value as EDN, with the members of its JSON. v must be of a type that json.Marshal
// can always encode.
func ednOf(v any) string {
	plain, _ := json.Marshal(v)
	in := json.NewDecoder(bytes.NewReader(plain))
	in.UseNumber()
	text, _ := ednValue(nil, in)
	return string(text)
}

// ednValue appends the decoder's next value.
func ednValue(b []byte, in *json.Decoder) ([]byte, error) {
	token, err := in.Token()
	if err != nil {
		return b, err
	}
	switch token := token.(type) {
	case json.Delim:
		return ednContainer(b, in, token)
	case string:
		return append(b, quotedEDN(token)...), nil
	case nil:
		return append(b, "nil"...), nil
	}
	return fmt.Append(b, token), nil
}

// ednContainer appends the array or object that open begins.
func ednContainer(b []byte, in *json.Decoder, open json.Delim) ([]byte, error) {
	b = append(b, byte(open))
	for n := 0; in.More(); n++ {
		if n > 0 {
			b = append(b, ", "...)
		}
		if open == '{' {
			name, err := in.Token()
			if err != nil {
				return b, err
			}
			b = append(fmt.Append(append(b, ':'), name), ' ')
		}
		var err error
		if b, err = ednValue(b, in); err != nil {
			return b, err
		}
	}
	closing, err := in.Token()
	return fmt.Append(b, closing), err
}

// into decodes the key's value, which ednOf wrote, into v.
func (k *keys) into(key string, v any) {
	if !k.has(key) {
		return
	}
	plain, err := jsonOf(k.any(key))
	if err == nil {
		var text []byte
		if text, err = json.Marshal(plain); err == nil {
			err = json.Unmarshal(text, v)
		}
	}
	if err != nil && k.err == nil {
		k.err = fmt.Errorf(":%s: %w", key, err)
	}
}

// jsonOf converts a decoded value to one that json.Marshal accepts.
func jsonOf(v any) (any, error) {
	switch v := v.(type) {
	case map[any]any:
		m := make(map[string]any, len(v))
		for name, value := range v {
			plain, err := jsonOf(value)
			if err != nil {
				return nil, err
			}
			m[word(name)] = plain
		}
		return m, nil
	case []any:
		all := make([]any, len(v))
		for i, value := range v {
			plain, err := jsonOf(value)
			if err != nil {
				return nil, err
			}
			all[i] = plain
		}
		return all, nil
	case edn.Keyword, edn.Symbol:
		return word(v), nil
	case nil, bool, string, int64:
		return v, nil
	case float64:
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			return v, nil
		}
	}
	return nil, fmt.Errorf("%v is not expected here", v)
}
