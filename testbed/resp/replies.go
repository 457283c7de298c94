package resp

import (
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// Replies matches the replies on one connection to its commands. The zero value is for a
// new connection. Replies must not be used concurrently.
type Replies struct {
	sent       int
	subscribed bool
	waiting    Queue[awaited]
}

type awaited struct {
	number   int    // the command's number, from 1
	confirms string // the name of a subscription command in upper case; "" for others
	left     int    // number of messages until the command is answered
}

// Sent notes that a command was sent and returns its number on the
// connection, from 1.
func (r *Replies) Sent(args []history.Bytes) int {
	r.sent++
	a := awaited{number: r.sent, left: 1}
	if Of(args).Is(Subscribes) {
		r.subscribed = true
		a.confirms = Name(args)
		a.left = max(1, len(args)-1)
	}
	r.waiting.Push(a)
	return r.sent
}

// Idle reports whether every command was answered and no subscription command was ever sent, so that
// no published messages can come. Invalidations (CLIENT TRACKING) may still come.
func (r *Replies) Idle() bool { return !r.subscribed && len(r.waiting.Live()) == 0 }

// Received notes a message from the node. If the message completes the answer to a command,
// Received returns the number of the command; otherwise, for example for a published message,
// it returns 0.
func (r *Replies) Received(m Message) int {
	if len(m) == 0 || len(r.waiting.Live()) == 0 {
		return 0
	}
	head := &r.waiting.Live()[0]
	if m[0] == '>' || r.subscribed {
		kind := pushKind(m)
		switch {
		case m[0] == '>' || Lookup(kind).Is(Subscribes):
			if kind == "" || kind != head.confirms {
				return 0
			}
		case kind == "MESSAGE" || kind == "PMESSAGE" || kind == "SMESSAGE":
			return 0
		}
	}
	if head.left--; head.left > 0 && m[0] != '-' {
		return 0
	}
	number := head.number
	r.waiting.Remove(0)
	return number
}

// pushKind returns the first element of an array or a push, in upper case, if that element is a
// bulk string; otherwise "".
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
