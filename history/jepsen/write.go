package jepsen

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"olympos.io/encoding/edn"
)

// Write writes a history in the format of Jepsen's history.edn: one map per line, with
// :process, :type, :f, :value, :time and :index, for Knossos, Elle and other readers of
// Jepsen's histories. Client operations are invoked and completed unchanged; all
// entries of the nemesis are :info, as in Jepsen.
//
// The :value of an acquire's ok is its fence, if any; the :value of a read or a write is
// Op.Value. Everything else is in extra keys, which Jepsen ignores and Read understands:
// :client (in every entry; nil = none), :lock, :mode, :token, :fence, :deadline, :monotonic, :seq,
// :reason, and for the nemesis :node, :from, :offset, :lost, :window, and :opens in an
// entry that opens a window. A deadline ends a hold without an operation: a model without
// :deadline considers the lock held until a successful release. Op.Keys is left out.
//
// A client may learn of the loss of a lease (:f :lost) while its process has an operation
// open. Readers of Jepsen's histories would take that :info for the operation's completion.
// So such a loss is written as an event of the nemesis, with its process as :by.
func Write(w io.Writer, ops []history.Op) error {
	out := bufio.NewWriter(w)
	var m ednMap
	open := map[history.Process]bool{}
	for i := range ops {
		op := &ops[i]
		event := op.F == history.FLost && op.Process != history.Nemesis
		if !event {
			open[op.Process] = op.Type == history.Invoke
		}
		m.b = m.b[:0]
		m.op(op, event && open[op.Process])
		if _, err := out.Write(append(m.b, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// ednMap is the text of one map.
type ednMap struct{ b []byte }

// op writes an entry. beside: the entry is a loss while its process has an operation open.
func (m *ednMap) op(op *history.Op, beside bool) {
	process, kind := "", op.Type
	if op.Process == history.Nemesis || beside {
		process, kind = ":nemesis", history.Info
	}
	m.b = append(m.b, '{')
	if process == "" {
		m.b = appendInt(append(m.b, ":process "...), op.Process)
	} else {
		m.b = append(append(m.b, ":process "...), process...)
	}
	m.raw(":type", ":"+string(kind))
	m.raw(":f", keyword(op.F))
	m.value(op)
	m.b = appendInt(append(m.b, ", :time "...), op.Time)
	m.b = appendInt(append(m.b, ", :index "...), op.Index)
	m.text(":error", op.Error)
	if op.Client == history.NoClient {
		m.raw(":client", "nil")
	} else {
		m.b = appendInt(append(m.b, ", :client "...), op.Client)
	}
	if beside {
		m.b = appendInt(append(m.b, ", :by "...), op.Process)
	}
	m.text(":lock", op.Lock)
	if op.Mode != "" {
		m.raw(":mode", keyword(string(op.Mode)))
	}
	if op.Lease != nil {
		m.text(":token", op.Lease.Token)
		number(m, ":fence", op.Lease.Fence)
		number(m, ":deadline", op.Lease.Deadline)
		if op.Lease.Monotonic {
			m.raw(":monotonic", "true")
		}
	}
	number(m, ":seq", op.Seq)
	if op.Reason != "" {
		m.raw(":reason", keyword(string(op.Reason)))
	}
	m.text(":node", op.Node)
	m.text(":from", op.From)
	number(m, ":offset", op.Offset)
	if op.Lost != nil {
		m.raw(":lost", ednOf(op.Lost))
	}
	if op.Window != nil {
		if op.Type == history.Invoke {
			m.raw(":opens", "true")
		}
		m.raw(":window", ednOf(op.Window))
	}
	m.b = append(m.b, '}')
}

// value writes the value that Jepsen's models use.
func (m *ednMap) value(op *history.Op) {
	m.b = append(m.b, ", :value "...)
	switch {
	case len(op.Value) == 1:
		m.b = appendInt(m.b, op.Value[0])
	case len(op.Value) > 1:
		for i, v := range op.Value {
			m.b = appendInt(append(m.b, "[ "[min(i, 1)]), v)
		}
		m.b = append(m.b, ']')
	case op.F == history.FAcquire && op.Type == history.OK && op.Lease != nil && op.Lease.Fence != 0:
		m.b = appendInt(m.b, op.Lease.Fence)
	default:
		m.b = append(m.b, "nil"...)
	}
}

func (m *ednMap) raw(key, value string) {
	m.b = append(append(append(append(m.b, ", "...), key...), ' '), value...)
}

func (m *ednMap) text(key, value string) {
	if value != "" {
		m.raw(key, quotedEDN(value))
	}
}

// quotedEDN encodes a string. Invalid UTF-8 becomes the replacement character, as in
// JSON, so that encoding cannot fail.
func quotedEDN(s string) string {
	text, _ := edn.Marshal(strings.ToValidUTF8(s, "\ufffd"))
	return string(text)
}

// keyword encodes a name as a keyword if possible, else as a string.
func keyword(name string) string {
	plain := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
	if !plain || name[0] < 'A' {
		return quotedEDN(name)
	}
	return ":" + name
}

func appendInt[T ~int | ~int64](b []byte, n T) []byte { return strconv.AppendInt(b, int64(n), 10) }

// number writes a member of the map, unless n is 0.
func number[T ~int | ~int64](m *ednMap, key string, n T) {
	if n != 0 {
		m.raw(key, strconv.FormatInt(int64(n), 10))
	}
}
