package testbed

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/lockstorm/lockstorm/history"
)

// Message is one complete RESP message, as on the wire.
type Message []byte

// errMalformed is in the error for bytes that are not RESP.
var errMalformed = errors.New("malformed RESP")

// readBuffer bounds the length of a simple string, an error or a header: Lua
// errors are the longest of them.
const readBuffer = 16 << 10

// NewReader returns a reader with a buffer that ReadMessage is content with.
func NewReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, readBuffer) }

// ReadMessage reads one message. Its error is r's own if that failed, be it in
// the middle of a message.
func ReadMessage(r *bufio.Reader) (m Message, err error) {
	// The parser trusts the lengths that it reads.
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, fmt.Errorf("%w: %v", errMalformed, p)
		}
	}()
	var raw resp3.RawMessage
	if err := raw.UnmarshalRESP(r, nil); err != nil {
		return nil, err
	}
	return Message(raw), nil
}

// cutMessage splits the first message off b; ok is false while it is incomplete.
func cutMessage(b []byte) (m Message, ok bool, err error) {
	if len(b) == 0 {
		return nil, false, nil
	}
	m, err = ReadMessage(bufio.NewReaderSize(bytes.NewReader(b), len(b)+1))
	switch {
	case err == nil:
		return m, true, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, false, nil
	default:
		return nil, false, fmt.Errorf("%w: %w", errMalformed, err)
	}
}

// Args returns the arguments of a command: an array of bulk strings.
func (m Message) Args() ([]history.Bytes, error) {
	kind, head, rest := header(m)
	n, err := strconv.Atoi(string(head))
	if kind != '*' || err != nil || n < 1 {
		return nil, fmt.Errorf("%w: a command is an array of bulk strings, not %.40q", errMalformed, string(m))
	}
	var args []history.Bytes
	for range n {
		var text []byte
		if kind, head, rest = header(rest); kind != '$' {
			return nil, fmt.Errorf("%w: a command's argument is a bulk string, not %q", errMalformed, kind)
		}
		text, rest = body(head, rest)
		args = append(args, history.Bytes(text))
	}
	return args, nil
}

// Compact returns a reply in the form of history.Command.Reply.
func (m Message) Compact() history.Bytes {
	var b strings.Builder
	compact(&b, m)
	return history.Bytes(b.String())
}

// compact writes one value and returns what follows it.
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
			text = text[4:] // "txt:"
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
	default: // + - : , # (
		b.Write(head)
	}
	return rest
}

// header splits a message into its kind, the rest of its first line, and what follows.
func header(m []byte) (kind byte, head, rest []byte) {
	line, rest, found := bytes.Cut(m, []byte("\r\n"))
	if !found || len(line) == 0 {
		return 0, nil, nil
	}
	return line[0], line[1:], rest
}

// body takes the text whose length head gives off rest.
func body(head, rest []byte) (text, after []byte) {
	n, err := strconv.Atoi(string(head))
	if err != nil || n < 0 || n+2 > len(rest) {
		return nil, nil
	}
	return rest[:n], rest[n+2:]
}

// subscriptions are the commands that turn a connection into a stream of
// messages, with as many confirmations as they have arguments.
var subscriptions = map[string]bool{
	"SUBSCRIBE": true, "PSUBSCRIBE": true, "SSUBSCRIBE": true,
	"UNSUBSCRIBE": true, "PUNSUBSCRIBE": true, "SUNSUBSCRIBE": true,
}

// handshakes are the other commands that libraries send on their own account.
var handshakes = map[string]bool{
	"HELLO": true, "CLIENT": true, "PING": true, "AUTH": true, "SELECT": true,
	"COMMAND": true, "READONLY": true, "QUIT": true, "RESET": true,
}

// Counts says whether a command is one of the recipe's own and so has a number
// in its step: handshakes, PING and subscriptions have none.
func Counts(args []history.Bytes) bool {
	name := CommandName(args)
	return !handshakes[name] && !subscriptions[name]
}

// CommandName is a command's name in upper case, "" if there are no arguments.
func CommandName(args []history.Bytes) string {
	if len(args) == 0 {
		return ""
	}
	return strings.ToUpper(string(args[0]))
}

// Replies pairs the replies of one connection with its commands. The zero value
// is a connection on which nothing was sent. It must not be used concurrently.
type Replies struct {
	sent       int
	subscribed bool
	waiting    []awaited
}

type awaited struct {
	number int    // of the command, from 1
	name   string // upper case
	left   int    // messages until it is answered
}

// Sent notes that a command was sent and returns its number on the
// connection, from 1.
func (r *Replies) Sent(args []history.Bytes) int {
	r.sent++
	a := awaited{number: r.sent, name: CommandName(args), left: 1}
	if subscriptions[a.name] {
		r.subscribed = true
		a.left = max(1, len(args)-1)
	}
	r.waiting = append(r.waiting, a)
	return r.sent
}

// Received notes a message from the node and returns the number of the command
// that it answers; 0 if it answers none, as a published message, or not yet all
// of it.
func (r *Replies) Received(m Message) int {
	if len(r.waiting) == 0 {
		return 0
	}
	head := &r.waiting[0]
	kind := pushKind(m)
	switch {
	case m[0] == '>' || r.subscribed && subscriptions[kind]:
		if kind != head.name {
			return 0
		}
	case r.subscribed && (kind == "MESSAGE" || kind == "PMESSAGE" || kind == "SMESSAGE"):
		return 0
	}
	if head.left--; head.left > 0 && m[0] != '-' {
		return 0
	}
	number := head.number
	r.waiting = r.waiting[1:]
	return number
}

// pushKind is the first element of an array or a push, in upper case.
func pushKind(m Message) string {
	kind, _, rest := header(m)
	if kind != '*' && kind != '>' {
		return ""
	}
	kind, head, rest := header(rest)
	if kind != '$' {
		return ""
	}
	text, _ := body(head, rest)
	return strings.ToUpper(string(text))
}
