package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// Message is one complete RESP message, as on the wire.
type Message []byte

// ErrMalformed is wrapped by every error about bytes that are not RESP.
var ErrMalformed = errors.New("malformed RESP")

// Limits of lengths. A message that exceeds one is malformed. Redis's own limit of a bulk string is
// maxBulk by default (proto-max-bulk-len).
const (
	maxBulk     = 512 << 20
	maxElements = 1 << 24
)

// readBuffer bounds the length of a simple string, an error or a header. Lua errors are the
// longest.
const readBuffer = 16 << 10

// NewReader returns a reader with a buffer that is large enough for Read.
func NewReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, readBuffer) }

// Read reads one message. If r fails, even in the middle of a message, Read returns r's
// error.
func Read(r *bufio.Reader) (Message, error) {
	var m Message
	for left := 1; left > 0; left-- {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrMalformed, len(line))
		}
		if err != nil {
			return nil, err
		}
		m = append(m, line...)
		body, children, err := element(line)
		if err != nil {
			return nil, err
		}
		if left += children; left > maxElements {
			return nil, fmt.Errorf("%w: more than %d elements", ErrMalformed, maxElements)
		}
		for end := len(m) + body; len(m) < end; { // in pieces, since the length may be false
			from := len(m)
			m = append(m, make([]byte, min(end-from, readBuffer))...)
			n, err := io.ReadFull(r, m[from:])
			if m = m[:from+n]; errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			if err != nil {
				return nil, err
			}
		}
		if body > 0 && !bytes.HasSuffix(m, crlf) {
			return nil, errUnended
		}
	}
	return m, nil
}

var (
	crlf       = []byte("\r\n")
	errUnended = fmt.Errorf("%w: a string is longer than its length", ErrMalformed)
)

// element parses the first line of a value and returns the size of the rest: body is the
// number of bytes of text, including CRLF, and children is the number of values.
func element(line []byte) (body, children int, err error) {
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, 0, fmt.Errorf("%w: %.40q", ErrMalformed, line)
	}
	head := line[1 : len(line)-2]
	switch line[0] {
	case '+', '-', ':', ',', '(', '_', '#', '.':
		return 0, 0, nil
	case '*', '~', '>', '%', '|':
		if string(head) == "?" {
			return 0, 0, nil
		}
		n, ok := number(head)
		if !ok || n > maxElements {
			break
		}
		if line[0] == '%' || line[0] == '|' {
			n *= 2
		}
		return 0, max(n, 0), nil
	case '$', '=', '!', ';':
		if line[0] == '$' && string(head) == "?" {
			return 0, 0, nil
		}
		n, ok := number(head)
		if !ok || n > maxBulk {
			break
		}
		if n < 0 || n == 0 && line[0] == ';' {
			return 0, 0, nil
		}
		return n + len(crlf), 0, nil
	}
	return 0, 0, fmt.Errorf("%w: %.40q", ErrMalformed, line)
}

// number parses a length; -1 is the only valid negative one.
func number(head []byte) (n int, ok bool) {
	if string(head) == "-1" {
		return -1, true
	}
	if len(head) == 0 || len(head) > 10 {
		return 0, false
	}
	for _, c := range head {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// Compact returns a reply in the form of history.Command.Reply.
func (m Message) Compact() history.Bytes {
	switch string(m) { // the most frequent replies
	case "+OK\r\n":
		return "OK"
	case ":0\r\n":
		return "0"
	case ":1\r\n":
		return "1"
	case "$-1\r\n", "*-1\r\n", "_\r\n":
		return "nil"
	}
	var b strings.Builder
	b.Grow(len(m))
	compact(&b, m)
	return history.Bytes(b.String())
}

// compact writes the compact form of the first value in m to b and returns the rest of m.
func compact(b *strings.Builder, m []byte) (rest []byte) {
	kind, head, rest := header(m)
	switch kind {
	case '$', '=', '!':
		if string(head) == "-1" {
			b.WriteString("nil")
			return rest
		}
		var text []byte
		text, rest = body(head, rest)
		if kind == '!' {
			b.Write(text)
			return rest
		}
		if kind == '=' && len(text) >= 4 {
			text = text[4:] // leaves out the format, "txt:"
		}
		b.WriteByte('"')
		b.Write(text)
		b.WriteByte('"')
	case '*', '~', '>', '%', '|':
		n, err := strconv.Atoi(string(head))
		if err != nil || n < 0 {
			b.WriteString("nil")
			return rest
		}
		if kind == '%' || kind == '|' {
			n *= 2
		}
		b.WriteByte('[')
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			rest = compact(b, rest)
		}
		b.WriteByte(']')
	case '_':
		b.WriteString("nil")
	default: // the kinds + - : , # (
		b.Write(head)
	}
	return rest
}

// header splits a message into its kind, the rest of its first line, and all bytes after that
// line.
func header(m []byte) (kind byte, head, rest []byte) {
	line, rest, found := bytes.Cut(m, []byte("\r\n"))
	if !found || len(line) == 0 {
		return 0, nil, nil
	}
	return line[0], line[1:], rest
}

// body splits rest into a text, whose length is in head, and the bytes after it.
func body(head, rest []byte) (text, after []byte) {
	n, err := strconv.Atoi(string(head))
	if err != nil || n < 0 || n+2 > len(rest) {
		return nil, nil
	}
	return rest[:n], rest[n+2:]
}
