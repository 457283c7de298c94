package jepsen

import (
	"bytes"
	"errors"
	"fmt"

	"olympos.io/encoding/edn"

	"github.com/lockstorm/lockstorm/internal/wording"
)

// mostDepth bounds the nesting of a value, mostTags its number of tags and discards: the
// decoding library recurses into both.
const mostDepth, mostTags = 100, 1000

var (
	errCutShort = errors.New("the file ends inside a value: is it cut short?")
	errTooDeep  = fmt.Errorf("a value nests deeper than %d levels, or has more than %d tags", mostDepth, mostTags)
)

// forms splits EDN into its values without decoding them: every error has a line, and
// values that no verdict needs (a Java object in an error, say) are never decoded.
type forms struct {
	text []byte
	pos  int
	line int // of text[pos], from 1
}

var closers = [256]byte{'{': '}', '[': ']', '(': ')'}

// ends reports, for each byte, whether it ends a symbol, a keyword or a number.
var ends = func() (t [256]bool) {
	for _, c := range "\t\n\v\f\r ,;\"{}[]()" {
		t[c] = true
	}
	return t
}()

// blank reports whether a byte is white space, which in EDN includes commas.
func blank(c byte) bool { return ends[c] && (c <= ' ' || c == ',') }

// advance moves f.pos forward to a position and counts the lines on the way.
func (f *forms) advance(to int) {
	f.line += bytes.Count(f.text[f.pos:to], []byte{'\n'})
	f.pos = to
}

// skip passes over white space, comments and discarded values. It returns the next
// byte, 0 at the end.
func (f *forms) skip() (byte, error) {
	for discards := 0; f.pos < len(f.text); {
		c := f.text[f.pos]
		switch {
		case blank(c):
			f.advance(f.pos + 1)
		case c == ';':
			f.advance(endOfLine(f.text, f.pos))
		case c == '#' && f.at(f.pos+1) == '_':
			if discards++; discards > mostTags {
				return 0, errTooDeep
			}
			to, err := f.end(f.pos + 2)
			if err != nil {
				return 0, err
			}
			f.advance(to)
		default:
			return c, nil
		}
	}
	return 0, nil
}

func (f *forms) at(i int) byte {
	if i < len(f.text) {
		return f.text[i]
	}
	return 0
}

func endOfLine(text []byte, from int) int {
	if n := bytes.IndexByte(text[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(text)
}

// next returns the next value as written, with its tags; nil if there is none.
func (f *forms) next() ([]byte, error) {
	if c, err := f.skip(); c == 0 || err != nil {
		return nil, err
	}
	from := f.pos
	to, err := f.end(from)
	if err != nil {
		return nil, err
	}
	f.advance(to)
	return f.text[from:to], nil
}

// end returns the end of the value that begins at i, or after the blanks that begin at i.
func (f *forms) end(i int) (int, error) {
	var open []byte // the closing brackets still expected
	tags := 0
	for i < len(f.text) {
		c := f.text[i]
		switch {
		case blank(c):
			i++
			continue
		case c == ';':
			i = endOfLine(f.text, i)
			continue
		case c == '#':
			if tags++; tags > mostTags {
				return 0, errTooDeep
			}
			switch i++; {
			case f.at(i) == '_':
				i++ // a discard: a value follows
			case closers[f.at(i)] == 0 && f.at(i) != '"':
				i = f.atom(i) // a tag: a value follows
			}
			continue
		case c == '"':
			to, err := f.quoted(i)
			if err != nil {
				return 0, err
			}
			i = to
		case closers[c] != 0:
			if open = append(open, closers[c]); len(open) > mostDepth {
				return 0, errTooDeep
			}
			i++
			continue
		case c == '}' || c == ']' || c == ')':
			if n := len(open) - 1; n < 0 || open[n] != c {
				f.advance(i)
				return 0, fmt.Errorf("unexpected %q", string(c))
			}
			open = open[:len(open)-1]
			i++
		default:
			i = f.atom(i)
		}
		if len(open) == 0 {
			return i, nil
		}
	}
	return 0, errCutShort
}

// atom returns the end of the symbol, keyword, number, character or tag at i. After a
// backslash, any byte is a character, even a bracket.
func (f *forms) atom(i int) int {
	if f.at(i) == '\\' {
		i++
	}
	for i++; i < len(f.text) && !ends[f.text[i]]; i++ {
	}
	return min(i, len(f.text))
}

func (f *forms) quoted(i int) (int, error) {
	for i++; i < len(f.text); i++ {
		switch f.text[i] {
		case '\\':
			i++
		case '"':
			return i + 1, nil
		}
	}
	return 0, errCutShort
}

func untagged(raw []byte) []byte {
	for len(raw) > 1 && raw[0] == '#' && raw[1] != '{' {
		f := forms{text: raw}
		to := f.atom(1)
		for to < len(raw) && blank(raw[to]) {
			to++
		}
		raw = raw[to:]
	}
	return raw
}

// members returns the values of a map by its keyword keys.
func members(raw []byte) (map[string][]byte, error) {
	raw = untagged(raw)
	if len(raw) < 2 || raw[0] != '{' {
		return nil, fmt.Errorf("expected a map, an operation as Jepsen writes it, got %s", wording.Excerpt(raw))
	}
	f := forms{text: raw[1 : len(raw)-1]}
	found := map[string][]byte{}
	for {
		key, err := f.next()
		if err != nil || key == nil {
			return found, err
		}
		value, err := f.next()
		if err != nil {
			return nil, err
		}
		if value == nil {
			return nil, fmt.Errorf("%s has no value", wording.Excerpt(key))
		}
		if key[0] == ':' {
			found[string(key[1:])] = value
		}
	}
}

// decode decodes one value. A panic of the library becomes an error.
func decode(raw []byte) (v any, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("%s is not EDN: %v", wording.Excerpt(raw), r)
		}
	}()
	if err := edn.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("%s is not EDN: %w", wording.Excerpt(raw), err)
	}
	return v, nil
}
