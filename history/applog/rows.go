package applog

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
)

// cell is one value of a row, as text.
type cell struct {
	text string
	unit time.Duration // the unit of a number; 0 if the field's name has none
}

// said returns the value with its unit, if the field's name says one.
func (c cell) said() string { return c.text + unitNames[c.unit] }

// row is one record. Fields without a value are left out.
type row struct {
	line  int
	cells map[field]cell
}

func (r row) has(f field) bool { _, ok := r.cells[f]; return ok }

func (r row) text(f field) string { return r.cells[f].text }

// table collects the rows of a file, and the field names in it that are unknown.
type table struct {
	rows    []row
	unknown []string
	columns map[string]column
}

type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

func at(line int, err error) error {
	if err == nil {
		return nil
	}
	return &lineError{line, err}
}

// unmarked returns a text without its byte order mark. Spreadsheets write one at the beginning of
// "CSV UTF-8" files.
func unmarked(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// IsCSV reports whether the file is CSV. The name's extension decides; without a known extension, a
// text is CSV if it does not begin with { or [.
func IsCSV(text []byte, name string) bool {
	text = unmarked(text)
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv", ".tsv":
		return true
	case ".jsonl", ".ndjson", ".json":
		return false
	}
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] != '{' && text[0] != '['
}

// rowsOf reads a CSV file with a header, JSON Lines, or one JSON array.
func rowsOf(text []byte, name string) (table, error) {
	text = unmarked(text)
	t := table{columns: map[string]column{}}
	var err error
	switch {
	case IsCSV(text, name):
		err = t.readCSV(text, strings.EqualFold(filepath.Ext(name), ".tsv"))
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")):
		err = t.readArray(text)
	default:
		err = t.readLines(text)
	}
	if err == nil {
		err = t.misspelt()
	}
	return t, err
}

// misspelt returns an error in two cases, in which the log would otherwise be judged as if it lacked
// a field:
//
//   - An unknown name resembles a known field that no row has.
//   - The log has the field from without the field to, and an unknown name is another word for the end of
//     a hold (endWords).
func (t *table) misspelt() error {
	some := func(f field) bool { return slices.ContainsFunc(t.rows, func(r row) bool { return r.has(f) }) }
	for _, name := range t.unknown {
		if some(fFrom) && !some(fTo) && slices.Contains(endWords, bare(unitless(strings.ToLower(name)))) {
			return at(t.rows[0].line, fmt.Errorf("%s is an unknown field: expected to (the time when the hold ended) or deadline (the time when its lease ends)", name))
		}
		for _, f := range nearly(name) {
			if len(t.rows) > 0 && !some(f) {
				return at(t.rows[0].line, fmt.Errorf("%s is an unknown field: expected %s", name, f))
			}
		}
	}
	return nil
}

// column returns the meaning of a name, and notes names that have none.
func (t *table) column(name string) column {
	c, known := t.columns[name]
	if !known {
		var ok bool
		if c, ok = columnOf(name); !ok {
			t.unknown = append(t.unknown, name)
		}
		t.columns[name] = c
	}
	return c
}

// put sets a value of the row. It leaves out values without a known field, and empty ones. A second
// value for a field is an error.
func (r row) put(name string, c column, text string) error {
	if c.field == "" || text == "" {
		return nil
	}
	if r.has(c.field) {
		return fmt.Errorf("%s is a second %s: expected one", name, c.field)
	}
	r.cells[c.field] = cell{text, c.unit}
	return nil
}

func (t *table) readCSV(text []byte, tabs bool) error {
	in := csv.NewReader(bytes.NewReader(text))
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	if tabs {
		in.Comma = '\t'
	}
	var names []string
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return csvProblem(err)
		}
		line, _ := in.FieldPos(0)
		if names == nil {
			names = slices.Clone(record)
			for i := range names {
				names[i] = strings.TrimSpace(names[i])
			}
			known := func(name string) bool { _, ok := columnOf(name); return ok }
			if !slices.ContainsFunc(names, known) {
				return at(line, badHeader(names))
			}
			continue
		}
		if len(record) != len(names) {
			return at(line, fmt.Errorf("%d values, expected %d as in the header", len(record), len(names)))
		}
		r := row{line, map[field]cell{}}
		for i, text := range record {
			if err := r.put(names[i], t.column(names[i]), strings.TrimSpace(text)); err != nil {
				return at(line, err)
			}
		}
		t.rows = append(t.rows, r)
	}
}

// badHeader returns the error for a header without any known name.
func badHeader(names []string) error {
	const expected = "expected a header that names the columns, such as client,lock,from,to"
	for _, other := range []struct{ mark, word string }{{";", ";"}, {"\t", "tabs"}, {",", "commas"}} {
		first, _, cut := strings.Cut(names[0], other.mark)
		if _, known := columnOf(strings.Trim(strings.TrimSpace(first), `"`)); known && cut {
			return fmt.Errorf("%s, separated by commas (in a .tsv file: by tabs); the file's columns are separated by %s", expected, other.word)
		}
	}
	return errors.New(expected)
}

// csvProblem says in plain words why a line is not CSV.
func csvProblem(err error) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return err
	}
	what := `a quote inside a value that does not begin with one: expected the value in quotes, and each quote in it doubled`
	if errors.Is(p.Err, csv.ErrQuote) {
		what = `a quoted value does not end well: expected a quote before the comma, and each quote inside doubled`
	}
	return at(p.StartLine, errors.New(what))
}

func (t *table) readLines(text []byte) error {
	for n := 1; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := t.object(line, n); err != nil {
			return at(n, err)
		}
	}
	return nil
}

func (t *table) readArray(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	line := func() int { return 1 + bytes.Count(text[:d.InputOffset()], []byte{'\n'}) }
	if _, err := d.Token(); err != nil {
		return at(line(), history.JSONProblem(err, text))
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return at(line(), history.JSONProblem(err, nil))
		}
		if err := t.object(raw, line()); err != nil {
			return at(line(), err)
		}
	}
	if _, err := d.Token(); err != nil {
		return at(line(), errors.New("expected ] at the end: is the file cut short?"))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return at(line(), errors.New("expected nothing after the array that holds the log"))
	}
	return nil
}

// object adds a JSON object as a row.
func (t *table) object(text []byte, line int) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return history.JSONProblem(err, text)
	}
	r := row{line, map[field]cell{}}
	if err := t.members(r, members); err != nil {
		return err
	}
	t.rows = append(t.rows, r)
	return nil
}

func (t *table) members(r row, members map[string]json.RawMessage) error {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names) // so that errors do not depend on the order of a map
	for _, name := range names {
		raw, c := members[name], t.column(name)
		var inner map[string]json.RawMessage
		if c.field == fLease && json.Unmarshal(raw, &inner) == nil {
			if err := t.members(r, inner); err != nil {
				return err
			}
			continue
		}
		text, err := plain(raw)
		if err != nil && c.field != "" {
			return fmt.Errorf("%s is %s, expected a word or a number", name, wording.Excerpt(raw))
		}
		if err := r.put(name, c, text); err != nil {
			return err
		}
	}
	return nil
}

// plain returns the text of a string, number or boolean, and "" for null. It returns an array of
// numbers, such as the value of a read, as JSON.
func plain(raw json.RawMessage) (string, error) {
	switch raw[0] {
	case 'n':
		return "", nil
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case '{':
		return "", errors.New("an object")
	case '[':
		var numbers []int64
		if err := json.Unmarshal(raw, &numbers); err != nil {
			return "", err
		}
	}
	return string(raw), nil
}
