package jepsen

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"olympos.io/encoding/edn"
)

// defaultLock names the lock in a history without names of locks.
const defaultLock = "lock"

// ednEntry is one entry from EDN. Its :value is not interpreted yet.
type ednEntry struct {
	op       history.Op
	line     int
	has      given
	explicit bool   // the entry has the :client that Write writes: value needs no interpretation
	owner    string // another harness's name for the client, from :client; "" if there is none
	value    any    // the :value of a client's entry
}

// clientFs maps the names that lock tests use for operations to values of Op.F and modes.
var clientFs = map[string]struct {
	f    string
	mode history.Mode
}{
	"acquire": {history.FAcquire, ""}, "lock": {history.FAcquire, ""}, "try-lock": {history.FAcquire, ""},
	"release": {history.FRelease, ""}, "unlock": {history.FRelease, ""},
	"extend": {history.FExtend, ""}, "renew": {history.FExtend, ""}, "refresh": {history.FExtend, ""},
	"read": {history.FRead, ""}, "write": {history.FWrite, ""}, "lost": {history.FLost, ""},
	"acquire-read": {history.FAcquire, history.Read}, "read-lock": {history.FAcquire, history.Read},
	"acquire-write": {history.FAcquire, history.Write}, "write-lock": {history.FAcquire, history.Write},
	"release-read": {history.FRelease, history.Read}, "read-unlock": {history.FRelease, history.Read},
	"release-write": {history.FRelease, history.Write}, "write-unlock": {history.FRelease, history.Write},
}

func readEDN(text []byte, name string, values Values) (Reading, error) {
	entries, line, err := ednEntries(text)
	if err != nil {
		return Reading{}, fmt.Errorf("%s:%d: %w", name, line, err)
	}
	r := Reading{Foreign: true, sign: ":"}
	named, line, err := r.meanings(entries, values)
	if err != nil {
		return Reading{}, fmt.Errorf("%s:%d: %w", name, line, err)
	}
	for _, e := range entries {
		if err := r.place(e.op, e.has); err != nil {
			return Reading{}, fmt.Errorf("%s:%d: %w", name, e.line, err)
		}
	}
	if r.unnumbered {
		r.note("entries have no :index: they are numbered from 0 in their order")
	}
	r.noteUntimed()
	if r.back > 0 {
		r.note(fmt.Sprintf("%d entries are timed before the entry that precedes them: the order of the file counts, as in Jepsen", r.back))
	}
	lack, mixed := r.unowned()
	if mixed {
		return Reading{}, fmt.Errorf("%s:%d: :client is missing, expected it in every entry of a client or in none", name, entries[lack].line)
	}
	if lack >= 0 {
		r.own(named)
	}
	if _, err := history.Pairs(r.Ops); err != nil {
		var m *history.MisfitError
		if errors.As(err, &m) {
			line = entries[m.At].line
		}
		return Reading{}, fmt.Errorf("%s:%d: %w", name, line, err)
	}
	r.unordered()
	return r, nil
}

// ednEntries decodes the operations of a file, which stand one after another, or in one vector or
// list. line is the line of err.
func ednEntries(text []byte) (entries []ednEntry, line int, err error) {
	f := forms{text: text, line: 1}
	c, err := f.skip()
	if err != nil {
		return nil, f.line, err
	}
	if c == '[' || c == '(' {
		at := f.pos
		end, err := f.end(at)
		if err != nil {
			return nil, f.line, err
		}
		rest := forms{text: text, pos: end, line: 1 + bytes.Count(text[:end], []byte{'\n'})}
		if c, err := rest.skip(); c != 0 || err != nil {
			return nil, rest.line, fmt.Errorf("expected nothing after the %s that holds the history", map[byte]string{'[': "vector", '(': "list"}[text[at]])
		}
		f.text = text[:end-1]
		f.advance(at + 1)
	}
	for {
		if _, err := f.skip(); err != nil {
			return nil, f.line, err
		}
		line := f.line
		raw, err := f.next()
		if err != nil {
			return nil, f.line, err
		}
		if raw == nil {
			return entries, f.line, nil
		}
		e, err := newEDNEntry(raw)
		if err != nil {
			return nil, line, err
		}
		e.line = line
		entries = append(entries, e)
	}
}

func newEDNEntry(raw []byte) (ednEntry, error) {
	m, err := members(raw)
	if err != nil {
		return ednEntry{}, err
	}
	k := keys{m: m}
	e := ednEntry{has: given{k.has("index"), k.has("time")}, explicit: k.in("client")}
	e.op = history.Op{
		Index: int(k.number("index")), Time: time.Duration(k.number("time")),
		Client: history.NoClient, Type: history.Type(k.word("type")), F: k.word("f"), Error: k.text("error"),
	}
	switch process := k.any("process").(type) {
	case int64:
		if e.op.Process = history.Process(process); process < 0 {
			return e, fmt.Errorf(":process is %d, expected a number from 0 or :nemesis", process)
		}
	case edn.Keyword, edn.Symbol, string:
		if word(process) != "nemesis" {
			return e, fmt.Errorf(":process is %v, expected a number or :nemesis", process)
		}
		e.op.Process = history.Nemesis
	default:
		return e, fmt.Errorf(":process is %s, expected a number or :nemesis", excerptOf(m, "process"))
	}
	switch {
	case k.err != nil:
		return e, k.err
	case e.op.Type != history.Invoke && e.op.Type != history.OK && e.op.Type != history.Fail && e.op.Type != history.Info:
		return e, fmt.Errorf(":type is %s, expected :invoke, :ok, :fail or :info", excerptOf(m, "type"))
	case e.op.Time < 0:
		return e, fmt.Errorf(":time is %d, expected nanoseconds since the start", e.op.Time)
	}
	if e.op.Process == history.Nemesis && e.explicit && e.op.F == history.FLost && k.has("by") {
		// Write writes some losses of clients as events of the nemesis, with :by.
		if e.op.Process = history.Process(k.number("by")); e.op.Process < 0 {
			return e, fmt.Errorf(":by is %d, expected a number from 0", e.op.Process)
		}
	}
	if e.op.Process == history.Nemesis {
		k.nemesis(&e)
		return e, k.err
	}
	err = k.clients(&e)
	return e, err
}

func excerptOf(m map[string][]byte, key string) string {
	if raw, ok := m[key]; ok {
		return wording.Excerpt(raw)
	}
	return "missing"
}

// clients fills in a client's operation.
func (k *keys) clients(e *ednEntry) error {
	known, ok := clientFs[e.op.F]
	if !ok {
		return fmt.Errorf(":f is %s, expected one of %s", excerptOf(k.m, "f"), expectedFs())
	}
	e.op.F, e.op.Mode = known.f, known.mode
	if k.has("mode") {
		mode, err := modeOf(k.any("mode"))
		if err != nil {
			return err
		}
		e.op.Mode = mode
	}
	e.op.Lock = k.text("lock")
	if k.has("token") || k.has("fence") || k.has("deadline") || k.has("monotonic") {
		e.op.Lease = &history.Lease{Token: k.text("token"), Fence: k.number("fence"), Deadline: time.Duration(k.number("deadline")), Monotonic: k.any("monotonic") == true}
	}
	e.op.Seq, e.op.Reason = k.number("seq"), history.Reason(k.word("reason"))
	e.value = k.any("value")
	client := k.any("client")
	if _, e.explicit = whole(client); !e.explicit {
		e.op.Client, e.owner = ownerless, word(client) // another harness's name for the client
	} else {
		e.op.Client = int(k.number("client"))
		if e.op.F == history.FRead || e.op.F == history.FWrite {
			e.op.Value = numbers(e.value)
		}
	}
	return k.err
}

// nemesis fills in an entry of the nemesis. Oracles give a meaning to the names of Lockstorm's
// events. If another harness uses such a name, such as :panic, its entry gets the F "nemesis panic".
func (k *keys) nemesis(e *ednEntry) {
	op := &e.op
	if !e.explicit {
		op.Type = history.Info
		op.F = cmp.Or(op.F, "nemesis")
		if _, event := history.EventOf(op.F); event || history.IsOperation(op.F) {
			op.F = "nemesis " + op.F
		}
		return
	}
	if k.has("client") {
		op.Client = int(k.number("client"))
	}
	op.Lock, op.Node, op.From = k.text("lock"), k.text("node"), k.text("from")
	op.Offset = time.Duration(k.number("offset"))
	if k.has("lost") {
		op.Lost = new(history.Lost)
		k.into("lost", op.Lost)
	}
	if k.has("window") {
		op.Window = new(history.Window)
		k.into("window", op.Window)
		if string(k.m["opens"]) == "true" {
			op.Type = history.Invoke
		}
	}
}

var modes = map[string]history.Mode{"read": history.Read, "shared": history.Read, "write": history.Write, "exclusive": history.Write}

// modeOf returns the mode that a word means; "" for nil.
func modeOf(v any) (history.Mode, error) {
	mode, ok := modes[word(v)]
	if !ok && v != nil {
		return "", fmt.Errorf(":mode is %v, expected :read or :shared, :write or :exclusive", v)
	}
	return mode, nil
}

func expectedFs() string {
	var names []string
	for f := range clientFs {
		names = append(names, ":"+f)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
