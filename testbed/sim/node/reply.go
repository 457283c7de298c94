package node

import (
	"strconv"
	"strings"
)

// replyWriter is the io.Writer through which miniredis writes replies to a Node.
type replyWriter Node

// Write implements io.Writer.
func (w *replyWriter) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

func (n *Node) line(kind byte, text string) {
	n.out = append(n.out, kind)
	n.out = append(n.out, text...)
	n.out = append(n.out, '\r', '\n')
}

func (n *Node) number(kind byte, v int64) {
	n.out = append(n.out, kind)
	n.out = strconv.AppendInt(n.out, v, 10)
	n.out = append(n.out, '\r', '\n')
}

func (n *Node) ok()           { n.line('+', "OK") }
func (n *Node) int(v int64)   { n.number(':', v) }
func (n *Node) array(len int) { n.number('*', int64(len)) }

// fail replies with an error. It replaces the line breaks in text, which may come from a
// client.
func (n *Node) fail(text string) {
	if strings.ContainsAny(text, "\r\n") {
		text = strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.TrimRight(text, "\r\n"))
	}
	n.line('-', text)
}

func (n *Node) status(text string) {
	if strings.ContainsAny(text, "\r\n") {
		text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
	}
	n.line('+', text)
}

func (n *Node) bulk(s string) {
	n.number('$', int64(len(s)))
	n.out = append(n.out, s...)
	n.out = append(n.out, '\r', '\n')
}

func (n *Node) null() {
	if n.resp3 {
		n.line('_', "")
		return
	}
	n.line('$', "-1")
}

func (n *Node) nullArray() {
	if n.resp3 {
		n.line('_', "")
		return
	}
	n.line('*', "-1")
}

// maps begins a map with this number of pairs.
func (n *Node) maps(pairs int) {
	if n.resp3 {
		n.number('%', int64(pairs))
		return
	}
	n.array(2 * pairs)
}

// push begins an out-of-band message with this number of elements.
func (n *Node) push(len int) {
	if n.resp3 {
		n.number('>', int64(len))
		return
	}
	n.array(len)
}

func (n *Node) double(v float64) {
	if n.resp3 {
		n.line(',', formatNumber(v, 17))
		return
	}
	n.bulk(formatNumber(v, 17))
}

func (n *Node) bigNumber(digits string) {
	if n.resp3 {
		n.line('(', strings.NewReplacer("\r", " ", "\n", " ").Replace(digits))
		return
	}
	n.bulk(digits)
}

// message calls write and returns the output, in the protocol of the receiving session.
func (n *Node) message(to *Session, write func()) []byte {
	mark, resp3 := len(n.out), n.resp3
	n.resp3 = to.resp3
	write()
	m := append([]byte(nil), n.out[mark:]...)
	n.out, n.resp3 = n.out[:mark], resp3
	return m
}
