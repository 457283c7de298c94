package applog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Kind says what a log records.
type Kind string

// Kinds of logs.
const (
	Entries     Kind = "entries"     // invocations and completions
	Completions Kind = "completions" // completions without invocations, such as successes only
	Holds       Kind = "holds"       // which client held which lock, from when to when
)

// Log is the content of a file.
type Log struct {
	Kind Kind
	// Entries are set if Kind is Entries; Lines has the line of each entry.
	Entries []history.Entry
	Lines   []int
	// Holds are set for the other kinds. If Kind is Holds, they are in order of their lines. If
	// Kind is Completions, they are in order of the time of each hold's first completion.
	Holds []Hold
	// Clients has the names of clients, by number. It is nil if Kind is Entries and all processes
	// and clients are numbers, which stay as they are.
	Clients []string
	// Notes say in plain sentences how the file was read.
	Notes []string
	// Fine is the unit of the last digit of the most precise time, such as 1 ms. Log.Readings assumes
	// that the log cut off all smaller digits. A duration with its own unit, such as 1.5s, counts as
	// exact to 1 ns.
	Fine time.Duration
	// End is the latest beginning or end of a hold, counted from the earliest. It is 0 if Kind is
	// Entries.
	End time.Duration
}

// Hold is one span for which a client believed that it held a lock. Its times are by the clock that
// stamped the records, and count from the earliest time in the log.
type Hold struct {
	Line   int // line of the record that began the hold; if Unbegun, of the one that ended it
	Client int
	Lock   string
	Mode   history.Mode
	// From is when the hold began. Unbegun: the log has only the end of the hold.
	From    time.Duration
	Unbegun bool
	// To is when the hold ended. Unended: the log does not say when.
	To      time.Duration
	Unended bool
	// Replied: To is the time of a completion, the reply to the release or a report of the loss. The
	// client stopped using the lock before the reply, when it invoked the release.
	Replied bool
	// Until is the end of the lease according to the log; 0 if the log does not state it.
	Until time.Duration
	// SaidFrom, SaidTo and SaidUntil are From, To and Until as the log writes them.
	SaidFrom, SaidTo, SaidUntil string

	token string
}

// defaultLock names the lock in a log without names of locks.
const defaultLock = "lock"

// Read reads a CSV file with a header, JSON Lines, or one JSON array. The extension of name
// determines the format (.csv, .tsv, .jsonl, .ndjson, .json); with any other name the content does.
// Errors start with "name:line: ", or with "name: " if they concern the whole file, and say what was
// expected.
func Read(text []byte, name string) (Log, error) {
	log, err := read(text, name)
	var at *lineError
	switch {
	case errors.As(err, &at):
		return Log{}, fmt.Errorf("%s:%d: %w", name, at.line, at.err)
	case err != nil:
		return Log{}, fmt.Errorf("%s: %w", name, err)
	}
	return log, nil
}

func read(text []byte, name string) (Log, error) {
	t, err := rowsOf(text, name)
	if err != nil {
		return Log{}, err
	}
	if len(t.rows) == 0 {
		return Log{}, errors.New("no records: expected who held which lock, from when to when, or operations on locks")
	}
	r := reader{rows: t.rows, numbers: map[string]int{}}
	if r.log.Kind, err = kindOf(t.rows); err != nil {
		return Log{}, err
	}
	if len(t.unknown) > 0 {
		r.note("not used: " + someOf(t.unknown))
	}
	r.locked = slices.ContainsFunc(t.rows, func(w row) bool { return w.has(fLock) || r.namedByValue(w) })
	switch r.log.Kind {
	case Holds:
		err = r.holds()
	case Completions:
		err = r.completions()
	default:
		err = r.entries()
	}
	if err != nil {
		return Log{}, err
	}
	r.log.Fine = r.instants.fine
	r.named()
	return r.log, nil
}

// kindOf tells the kinds of logs apart by their fields.
func kindOf(rows []row) (Kind, error) {
	some := func(f field) bool { return slices.ContainsFunc(rows, func(r row) bool { return r.has(f) }) }
	switch {
	case some(fF) && some(fFrom):
		return "", at(rows[0].line, errors.New("both f and from are there: expected operations with their times, or holds with from and to"))
	case some(fFrom):
		return Holds, nil
	case !some(fF):
		return "", at(rows[0].line, errors.New("expected client, lock, from and to (holds), or client, lock, f and time (what succeeded), or process, type, f and lock (a history)"))
	case slices.ContainsFunc(rows, func(r row) bool { return typeWords[strings.ToLower(r.text(fType))] == history.Invoke }):
		return Entries, nil
	}
	return Completions, nil
}

// reader turns the rows of one file into a Log.
type reader struct {
	rows     []row
	log      Log
	instants instants
	numbers  map[string]int // numbers of clients, by name
	locked   bool           // some row names its lock
}

func (r *reader) note(text string) { r.log.Notes = append(r.log.Notes, text) }

// namedByValue reports whether the row's value is the lock's name, as in a Jepsen acquire of "a".
func (r *reader) namedByValue(w row) bool {
	f := fWords[strings.ToLower(w.text(fF))]
	v := w.text(fValue)
	return v != "" && v[0] != '[' && f != history.FRead && f != history.FWrite
}

// lock returns the name of the row's lock. It is an error if this row names no lock, but others do.
func (r *reader) lock(w row) (string, error) {
	switch {
	case w.has(fLock):
		return w.text(fLock), nil
	case r.namedByValue(w):
		return w.text(fValue), nil
	case r.locked:
		return "", errors.New("lock is missing: expected it in every line or in none")
	}
	return defaultLock, nil
}

// client returns the number of the row's client, by the name in the client field or else in the
// process field.
func (r *reader) client(w row) (int, error) {
	name := w.text(fClient)
	if name == "" {
		name = w.text(fProcess)
	}
	if name == "" {
		return 0, errors.New("client is missing: expected who acquired the lock, one name for each process or thread that can hold it alone")
	}
	return r.number(name), nil
}

func (r *reader) number(name string) int {
	n, known := r.numbers[name]
	if !known {
		n = len(r.numbers)
		r.numbers[name] = n
		r.log.Clients = append(r.log.Clients, name)
	}
	return n
}

// named notes the names of clients, unless each name is the client's number.
func (r *reader) named() {
	var parts []string
	plain := true
	for n, name := range r.log.Clients {
		parts = append(parts, fmt.Sprintf("c%d is %s", n, name))
		plain = plain && name == strconv.Itoa(n)
	}
	if len(parts) > 0 && !plain {
		r.note("clients by name: " + someOf(parts))
	}
}

// someOf lists the first texts, and counts the rest if they are too many to read.
func someOf(texts []string) string {
	const most = 12
	if len(texts) <= most {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), len(texts)-most)
}
