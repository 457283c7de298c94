package jepsen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/history/applog"
	"github.com/lockstorm/lockstorm/internal/packed"
)

// Reading is a history read from a file, perhaps recorded by another harness, with the
// assumptions made to read it.
type Reading struct {
	Ops []history.Op
	// Truncated reports a last line that was cut short and left out.
	Truncated error
	// Notes say in plain sentences which assumptions were made, and why.
	Notes []string
	// Untimed: no entry has a time. Entries are placed a millisecond apart, in their
	// order, so durations mean nothing.
	Untimed bool
	// Unordered: reads and writes lack the order in which the resource executed them
	// (Op.Seq), so that the resource cannot be judged.
	Unordered bool
	// Foreign: the file is not in Lockstorm's own format (history.ReadOps).
	Foreign bool
	// Log is set instead of Ops if the file is a log of holds.
	Log *applog.Log

	sign       string // begins the names of fields in the file: ":" in EDN
	unnumbered bool   // the first entry has no index
	back       int    // number of entries that were timed before the previous one
}

// Values is the meaning of a plain :value of acquires. Each Jepsen test chooses that meaning. "" = not
// stated: Read then takes such values only if all acquires have the same one.
type Values string

// What a plain value of an acquire means, such as the "a" of {:f :acquire, :value "a"}.
const (
	ValuesLock  Values = "lock"  // the lock's name
	ValuesToken Values = "token" // a token of this one acquire
)

// Read reads a file in one of these formats:
//
//   - Jepsen's EDN: one vector or list of maps, or one map after another.
//   - JSON Lines as Lockstorm writes them, or one JSON array of the same entries.
//   - A log of holds, in CSV, as package applog reads it.
//
// The extension of name determines the format (.edn, .jsonl, .ndjson, .json, .csv); with any other
// name the content does. The name may also end with .zst; r has the decompressed text. Errors start
// with "name:line: ", or with "name: " if they concern no single line.
//
// JSON Lines as Lockstorm writes them are never held in memory as text: r is read twice, first to
// count the lines. r need only be able to seek to its start.
//
// Ambiguous input is an error. The index, the time or the client may be missing, but only from all
// entries. Read numbers entries without an index, and places entries without a time a millisecond
// apart. Without clients, each process is a client. Notes report these assumptions.
func Read(r io.ReadSeeker, name string, values Values) (Reading, error) {
	start, entries, err := survey(r)
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", name, err)
	}
	if isUTF16(start) {
		return Reading{}, fmt.Errorf("%s: the file is UTF-16: expected UTF-8", name)
	}
	edn, log := isEDN(start, name), isCSV(start, name)
	all := Reading{Foreign: bytes.HasPrefix(bytes.TrimSpace(start), []byte("["))}
	if !edn && !log && !all.Foreign {
		all.Ops = make([]history.Op, 0, entries)
		return all.ordered(all.readLines(r, name))
	}
	text, err := content(r)
	switch {
	case err != nil:
		return Reading{}, fmt.Errorf("%s: %w", name, err)
	case edn:
		return readEDN(text, name, values)
	case log:
		holds, err := applog.Read(text, name)
		return Reading{Log: &holds}, err
	}
	return all.ordered(all.readArray(text, name))
}

// byteOrderMark stands at the beginning of some UTF-8 files.
var byteOrderMark = []byte("\ufeff")

// isUTF16 reports whether a text is UTF-16: it begins with a byte order mark of UTF-16, or at least
// half of its first bytes are 0, as in UTF-16 with ASCII field names.
func isUTF16(text []byte) bool {
	head := text[:min(len(text), 64)]
	return bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) ||
		len(head) > 1 && bytes.Count(head, []byte{0}) >= len(head)/2
}

// survey returns the first 1 MB of r, and about how many entries r has if it is JSON Lines. An
// entry has at least 40 bytes. Afterwards r is at its start again, or behind its byte order mark.
func survey(r io.ReadSeeker) (start []byte, entries int, err error) {
	in := bufio.NewReaderSize(r, 1<<20)
	start, _ = in.Peek(in.Size()) // the loop meets the same error again
	start = bytes.Clone(start)
	size := 0
	for err == nil || errors.Is(err, bufio.ErrBufferFull) {
		var line []byte
		line, err = in.ReadSlice('\n')
		size += len(line)
		if err == nil {
			entries++
		}
	}
	if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, 0, err
	}
	skip := 0
	if bytes.HasPrefix(start, byteOrderMark) {
		skip = len(byteOrderMark)
	}
	return start[skip:], min(entries+1, size/40), restart(r, skip)
}

// restart goes back to the start of r and skips bytes.
func restart(r io.ReadSeeker, skip int) error {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the file again from its start: %w", err)
	}
	_, err := io.CopyN(io.Discard, r, int64(skip))
	return err
}

// content returns all of r, from its start, without a byte order mark. If a compressed file is cut
// short, content returns what there is.
func content(r io.ReadSeeker) ([]byte, error) {
	if err := restart(r, 0); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return bytes.TrimPrefix(text, byteOrderMark), nil
}

// ordered returns err if it is not nil, otherwise the Reading with Unordered filled in.
func (r *Reading) ordered(err error) (Reading, error) {
	if err != nil {
		return Reading{}, err
	}
	r.unordered()
	return *r, nil
}

// extension returns the name's extension if it determines the format, else "".
func extension(name string) string {
	ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(name, packed.Suffix)))
	if slices.Contains([]string{".edn", ".jsonl", ".ndjson", ".json", ".csv"}, ext) {
		return ext
	}
	return ""
}

// isCSV reports whether the format is CSV. The name's extension decides, else the first byte: in JSON
// it is a bracket.
func isCSV(text []byte, name string) bool {
	if ext := extension(name); ext != "" {
		return ext == ".csv"
	}
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] != '{' && text[0] != '['
}

// isEDN reports whether the format is EDN. The name's extension decides, else the first byte after
// the opening brackets: in EDN that is often the colon of a keyword, in JSON the quote of a string.
func isEDN(text []byte, name string) bool {
	if ext := extension(name); ext != "" {
		return ext == ".edn"
	}
	rest := bytes.TrimLeft(text, "[{ \t\r\n,")
	return len(rest) > 0 && bytes.IndexByte([]byte(`:#(;)`), rest[0]) >= 0
}

func (r *Reading) readLines(lines io.Reader, name string) error {
	n := 0
	var err error
	r.Truncated, err = history.ReadLines(lines, name, func(e history.Entry) error {
		n++
		return r.add(e, n)
	})
	if err != nil {
		return err
	}
	return r.finish(name)
}

// readArray reads one JSON array of entries.
func (r *Reading) readArray(text []byte, name string) error {
	d := json.NewDecoder(bytes.NewReader(text))
	line := func() int { return 1 + bytes.Count(text[:d.InputOffset()], []byte{'\n'}) }
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, line(), history.JSONProblem(err, text))
	}
	for n := 1; d.More(); n++ {
		var e history.Entry
		if err := d.Decode(&e); err != nil {
			return fmt.Errorf("%s:%d: entry %d: %w", name, line(), n, history.JSONProblem(err, nil))
		}
		if err := r.add(e, n); err != nil {
			return fmt.Errorf("%s:%d: %w", name, line(), err)
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("%s:%d: expected ] at the end: is the file cut short?", name, line())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:%d: expected nothing after the array that holds the history", name, line())
	}
	return r.finish(name)
}

// ownerless is Op.Client of an entry whose client is missing.
const ownerless = -2

// add checks the n-th entry of a JSON file and adds it.
func (r *Reading) add(e history.Entry, n int) error {
	if e.Client == nil && e.Process != nil && *e.Process != history.Nemesis {
		none := ownerless
		e.Client = &none
	}
	has := given{e.Index != nil, e.Time != nil}
	if !has.time {
		e.Time = new(time.Duration) // Complete wants one
	}
	op, err := e.Complete()
	if err != nil {
		return err
	}
	return r.place(op, has)
}

// given says which of these fields an entry has in the file.
type given struct{ index, time bool }

// place adds an entry with the index and the time that the file gives it, or else with those that follow
// from its place. Such fields must be missing from all entries or from none. If an EDN entry is timed
// before the previous one, it gets the time 1 ns after that one's.
func (r *Reading) place(op history.Op, has given) error {
	n := len(r.Ops)
	if n == 0 {
		r.unnumbered, r.Untimed = !has.index, !has.time
	}
	if !has.index {
		op.Index = n
	}
	if !has.time {
		op.Time = time.Duration(n) * time.Millisecond
	}
	if n > 0 {
		last := r.Ops[n-1]
		switch {
		case r.unnumbered == has.index:
			return fmt.Errorf("%sindex is in some entries only: expected it in every entry or in none", r.sign)
		case r.Untimed == has.time:
			return fmt.Errorf("%stime is in some entries only: expected it in every entry or in none", r.sign)
		case op.Index <= last.Index:
			return fmt.Errorf("%sindex is %d, expected more than %d", r.sign, op.Index, last.Index)
		case op.Time < last.Time && r.sign == "":
			return fmt.Errorf("time %d is before the previous entry's %d", op.Time, last.Time)
		case op.Time < last.Time:
			r.back++
			op.Time = last.Time + 1
		}
	}
	r.Ops = append(r.Ops, op)
	return nil
}

// unowned returns the place of the first entry of a client that lacks its client, and whether others have
// theirs; -1 if none lacks it.
func (r *Reading) unowned() (at int, mixed bool) {
	at, owned := -1, false
	for i, op := range r.Ops {
		switch {
		case op.Process == history.Nemesis:
		case op.Client != ownerless:
			owned = true
		case at < 0:
			at = i
		}
	}
	return at, owned && at >= 0
}

// finish assigns missing owners and checks that the history is possible.
func (r *Reading) finish(name string) error {
	lack, mixed := r.unowned()
	if mixed {
		return fmt.Errorf("%s: entry %d: client is missing, expected it in every entry or in none", name, r.Ops[lack].Index)
	}
	if lack >= 0 {
		r.own(nil)
	}
	r.noteUntimed()
	r.Foreign = r.Foreign || lack >= 0 || r.unnumbered || r.Untimed
	if _, err := history.Pairs(r.Ops); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *Reading) noteUntimed() {
	if r.Untimed {
		r.note(fmt.Sprintf("entries have no %stime: they keep their order and are placed a millisecond apart, so durations mean nothing", r.sign))
	}
}

func (r *Reading) note(texts ...string) { r.Notes = append(r.Notes, texts...) }

// unordered sets r.Unordered if no read or write has a Seq.
func (r *Reading) unordered() {
	touched := false
	for _, op := range r.Ops {
		if op.Process == history.Nemesis || op.Type != history.OK || op.F != history.FRead && op.F != history.FWrite {
			continue
		}
		if op.Seq != 0 {
			return
		}
		touched = true
	}
	if touched {
		r.Unordered = true
		r.note("reads and writes have no seq, the order in which the resource saw them: the resource is not judged")
	}
}
