package resp

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// Args returns the arguments of a command. The message must be an array of bulk strings.
func (m Message) Args() ([]history.Bytes, error) {
	args, n, err := Cut(m, nil)
	if err == nil && n != len(m) {
		err = fmt.Errorf("%w: %.40q", errNoCommand, string(m))
	}
	return args, err
}

// AppendCommand appends a command to b, as an array of bulk strings.
func AppendCommand(b []byte, args ...string) []byte {
	b = append(strconv.AppendInt(append(b, '*'), int64(len(args)), 10), crlf...)
	for _, arg := range args {
		b = append(strconv.AppendInt(append(b, '$'), int64(len(arg)), 10), crlf...)
		b = append(append(b, arg...), crlf...)
	}
	return b
}

var errNoCommand = fmt.Errorf("%w: a command is an array of bulk strings", ErrMalformed)

// Cut parses the first command in b and returns its arguments and its length in b. The length
// is 0 if the command is incomplete. Memory comes from t, unless t is nil.
func Cut(b []byte, t *Texts) (args []history.Bytes, n int, err error) {
	count, n, err := bulk(b, '*')
	if n == 0 || err != nil {
		return nil, 0, err
	}
	if count < 1 || count > maxElements {
		return nil, 0, fmt.Errorf("%w: %.40q", errNoCommand, b)
	}
	first := n
	for range count {
		length, head, err := bulk(b[n:], '$')
		if head == 0 || err != nil {
			return nil, 0, err
		}
		if length < 0 || length > maxBulk {
			return nil, 0, fmt.Errorf("%w: %.40q", errNoCommand, b[n:])
		}
		if n += head + length + len(crlf); n > len(b) {
			return nil, 0, nil
		}
		if b[n-2] != '\r' || b[n-1] != '\n' {
			return nil, 0, errUnended
		}
	}
	var text string
	if t != nil {
		args, text = t.list(count), t.keep(b[:n])
	} else {
		args, text = make([]history.Bytes, count), string(b[:n])
	}
	for i, at := 0, first; i < count; i++ {
		length, head, _ := bulk(b[at:], '$')
		at += head
		args[i] = history.Bytes(text[at : at+length])
		at += length + len(crlf)
	}
	return args, n, nil
}

// bulk parses the first line of b: kind, then a number. It returns the number as length, and
// the length of the line itself as line; line is 0 if the line is incomplete.
func bulk(b []byte, kind byte) (length, line int, err error) {
	if len(b) == 0 {
		return 0, 0, nil
	}
	if b[0] != kind {
		return 0, 0, fmt.Errorf("%w: %.40q", errNoCommand, b)
	}
	const longest = len("$1234567890\r\n")
	end := bytes.IndexByte(b[:min(len(b), longest)], '\n')
	if end < 0 && len(b) < longest {
		return 0, 0, nil
	}
	if end < 2 || b[end-1] != '\r' {
		return 0, 0, fmt.Errorf("%w: %.40q", errNoCommand, b)
	}
	length, ok := number(b[1 : end-1])
	if !ok {
		return 0, 0, fmt.Errorf("%w: %.40q", errNoCommand, b)
	}
	return length, end + 1, nil
}

// Texts allocates small strings and lists of strings. Many of them share one piece of memory.
// The zero value is ready for use.
type Texts struct {
	chars strings.Builder
	lists []history.Bytes
}

// Bounds of the size of a piece of memory. Pieces grow with use, since most connections carry
// little.
const (
	leastText = 256
	mostText  = 8 << 10
)

func (t *Texts) keep(b []byte) string {
	if room := t.chars.Cap() - t.chars.Len(); len(b) > room {
		size := min(max(leastText, 2*t.chars.Cap()), mostText)
		t.chars.Reset()
		t.chars.Grow(max(len(b), size))
	}
	from := t.chars.Len()
	t.chars.Write(b)
	return t.chars.String()[from:]
}

func (t *Texts) list(n int) []history.Bytes {
	if n > cap(t.lists)-len(t.lists) {
		size := min(max(leastText/16, 2*cap(t.lists)), mostText/16)
		t.lists = make([]history.Bytes, 0, max(n, size))
	}
	from := len(t.lists)
	t.lists = t.lists[:from+n]
	return t.lists[from : from+n : from+n]
}

// Counts reports whether a command is one of the recipe's own, and so has a number in its
// step. Handshakes (also PING) and subscriptions have no number.
func Counts(args []history.Bytes) bool { return !Of(args).Is(Handshake | Subscribes) }

// Name returns a command's name in upper case, "" if there are no arguments.
func Name(args []history.Bytes) string {
	if len(args) == 0 {
		return ""
	}
	return strings.ToUpper(string(args[0]))
}
