package history

import (
	"bytes"
	"encoding/json"
	"time"
)

// entryLines decodes lines that hold an entry with numbers, plain texts and a lease: nearly all
// lines of a history. It takes a fifth of encoding/json's time, and keeps one copy of each name.
type entryLines struct {
	names   map[string]string
	numbers entryNumbers // the numbers of the line decoded last
}

// entryNumbers has the numbers that an Entry points to.
type entryNumbers struct {
	index, client int
	at            time.Duration
	process       Process
}

// mostNames bounds the number of names that entryLines keeps.
const mostNames = 1 << 12

// unmarshal works like json.Unmarshal, but is faster for most entries.
func (l *entryLines) unmarshal(line []byte, v any) error {
	if e, is := v.(*Entry); is {
		var ok bool
		if *e, ok = l.decode(line); ok {
			return nil
		}
		*e = Entry{}
	}
	return json.Unmarshal(line, v)
}

// decode decodes a line of simple form, with the result that encoding/json would give. For any other line
// ok is false and e is meaningless: encoding/json then decodes the line, or reports its error.
func (l *entryLines) decode(line []byte) (e Entry, ok bool) {
	n := &l.numbers
	p := plainJSON{text: line}
	ok = p.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			e.Index = &n.index
			return number(&p, e.Index)
		case "time":
			e.Time = &n.at
			return number(&p, e.Time)
		case "process":
			e.Process = &n.process
			return number(&p, e.Process) && n.process >= 0
		case "client":
			e.Client = &n.client
			return number(&p, e.Client)
		case "seq":
			return number(&p, &e.Seq)
		case "type":
			return name(l, &p, &e.Type)
		case "f":
			return name(l, &p, &e.F)
		case "lock":
			return name(l, &p, &e.Lock)
		case "mode":
			return name(l, &p, &e.Mode)
		case "reason":
			return name(l, &p, &e.Reason)
		case "error":
			return text(&p, &e.Error)
		case "value":
			return numbers(&p, &e.Value)
		case "lease":
			if e.Lease != nil {
				return false // encoding/json would merge the two leases
			}
			e.Lease = &Lease{}
			return p.lease(e.Lease)
		}
		return false
	})
	return e, ok && p.ended()
}

func (p *plainJSON) lease(l *Lease) bool {
	return p.object(func(key []byte) bool {
		switch string(key) {
		case "token":
			return text(p, &l.Token)
		case "fence":
			return number(p, &l.Fence)
		case "deadline":
			return number(p, &l.Deadline)
		case "monotonic":
			l.Monotonic = p.true()
			return l.Monotonic
		}
		return false
	})
}

// name reads a text with few different values in a history, such as a lock's name. Equal names share
// one copy in memory.
func name[T ~string](l *entryLines, p *plainJSON, to *T) bool {
	s, ok := p.word()
	if !ok {
		return false
	}
	kept, known := l.names[string(s)]
	if !known {
		kept = string(s)
		if l.names == nil {
			l.names = map[string]string{}
		}
		if len(l.names) < mostNames {
			l.names[kept] = kept
		}
	}
	*to = T(kept)
	return true
}

func text(p *plainJSON, to *string) bool {
	s, ok := p.word()
	*to = string(s)
	return ok
}

func number[T ~int | ~int64](p *plainJSON, to *T) bool {
	n, ok := p.integer()
	*to = T(n)
	return ok
}

func numbers(p *plainJSON, to *[]int64) bool {
	if !p.byte('[') {
		return false
	}
	all := []int64{}
	if !p.byte(']') {
		for {
			n, ok := p.integer()
			if !ok {
				return false
			}
			all = append(all, n)
			if p.byte(']') {
				break
			}
			if !p.byte(',') {
				return false
			}
		}
	}
	*to = all
	return true
}

// plainJSON reads the simplest JSON. Its methods return false for any other text.
type plainJSON struct {
	text []byte
	at   int
}

// byte skips white space and reads the byte b, if b is next.
func (p *plainJSON) byte(b byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == b {
		p.at++
		return true
	}
	return false
}

// true skips white space and reads the word true, if it is next.
func (p *plainJSON) true() bool {
	p.space()
	if !bytes.HasPrefix(p.text[p.at:], []byte("true")) {
		return false
	}
	p.at += len("true")
	return true
}

func (p *plainJSON) space() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t' || p.text[p.at] == '\r' || p.text[p.at] == '\n') {
		p.at++
	}
}

// ended reports whether only white space is left.
func (p *plainJSON) ended() bool {
	p.space()
	return p.at == len(p.text)
}

// object reads an object. field reads the value of a key.
func (p *plainJSON) object(field func(key []byte) bool) bool {
	if !p.byte('{') {
		return false
	}
	if p.byte('}') {
		return true
	}
	for {
		key, ok := p.word()
		if !ok || !p.byte(':') || !field(key) {
			return false
		}
		if p.byte('}') {
			return true
		}
		if !p.byte(',') {
			return false
		}
	}
}

// word reads a string of printable ASCII without escapes. The result is a part of p.text.
func (p *plainJSON) word() ([]byte, bool) {
	if !p.byte('"') {
		return nil, false
	}
	from := p.at
	for ; p.at < len(p.text); p.at++ {
		switch b := p.text[p.at]; {
		case b == '"':
			p.at++
			return p.text[from : p.at-1], true
		case b == '\\' || b < ' ' || b > '~':
			return nil, false
		}
	}
	return nil, false
}

// mostDigits is the number of decimal digits that always fit in an int64.
const mostDigits = 18

// integer reads a whole number without an exponent.
func (p *plainJSON) integer() (n int64, ok bool) {
	negative := p.byte('-') // encoding/json allows no space after the sign
	from := p.at
	if !negative {
		p.space()
		from = p.at
	}
	for ; p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9'; p.at++ {
		if p.at-from == mostDigits {
			return 0, false
		}
		n = 10*n + int64(p.text[p.at]-'0')
	}
	digits := p.at - from
	if digits == 0 || digits > 1 && p.text[from] == '0' {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true // a fraction or an exponent fails where a comma is expected
}
