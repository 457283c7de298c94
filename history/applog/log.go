// Package applog reads logs of holds: CSV with a line for each span for which a process held a lock.
//
// The header names the columns process, lock, from and to, and perhaps mode (read or write) and
// deadline (the end of the lease), in any order. Either all times are RFC 3339, or all are seconds.
// An empty to means that the log does not say when the hold ended.
package applog

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Log is the content of a file.
type Log struct {
	Holds []Hold        // at least one, in order of From
	Fine  time.Duration // the unit of the last digit of the most precise time, such as 1 ms
}

// Hold is one span for which a process believed that it held a lock, by the clock of that process.
type Hold struct {
	Line             int
	Process          string
	Client           int // the number of the process, from 0 in order of lines
	Lock             string
	Mode             history.Mode
	From             time.Duration // since 1970, if the log has dates
	To               time.Duration // Never: the log does not say when the hold ended
	Until            time.Duration // the end of the lease; Never if the log does not state it
	SaidFrom, SaidTo string        // From and To as the log writes them
}

// Never stands for a time that the log does not state.
const Never = time.Duration(math.MaxInt64)

// columns are the names that a header may have. The first four are required.
var columns = []string{"process", "lock", "from", "to", "mode", "deadline"}

const expected = "expected a header that names the columns process, lock, from, to, and perhaps mode, deadline, separated by commas"

type reader struct {
	header  []string
	value   map[string]string // the line's values, by column
	numbers map[string]int    // numbers of processes
	first   string            // the first time, as the log writes it
	log     Log
}

// Read reads a file. Errors start with "name:line: " and say what was expected.
func Read(text []byte, name string) (Log, error) {
	in := csv.NewReader(bytes.NewReader(text))
	in.FieldsPerRecord = -1
	r := reader{value: map[string]string{}, numbers: map[string]int{}, log: Log{Fine: time.Second}}
	for line := 1; ; {
		values, err := in.Read()
		var bad *csv.ParseError
		switch {
		case errors.As(err, &bad):
			line, err = bad.StartLine, errors.New("a quote is out of place: expected quotes around a whole value, and each quote inside doubled")
		case err == nil:
			line, _ = in.FieldPos(0)
			if r.header == nil {
				err = r.readHeader(values)
			} else {
				err = r.add(line, values)
			}
		case len(r.log.Holds) == 0: // here and below, the file is over
			err = errors.New("no holds: " + expected + ", and a line for each hold")
		default:
			slices.SortStableFunc(r.log.Holds, func(a, b Hold) int { return cmp.Compare(a.From, b.From) })
			return r.log, nil
		}
		if err != nil {
			return Log{}, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
}

// readHeader sets the names of columns.
func (r *reader) readHeader(names []string) error {
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !slices.Contains(columns, name) {
			return fmt.Errorf("column %q is unknown: %s", name, expected)
		}
		if slices.Contains(r.header, name) {
			return fmt.Errorf("column %s is there twice: expected it once", name)
		}
		r.header = append(r.header, name)
	}
	for _, name := range columns[:4] {
		if !slices.Contains(r.header, name) {
			return fmt.Errorf("column %s is missing: %s", name, expected)
		}
	}
	return nil
}

// add adds the hold of a line.
func (r *reader) add(line int, values []string) error {
	if len(values) != len(r.header) {
		return fmt.Errorf("%d values, expected %d as in the header", len(values), len(r.header))
	}
	for i, name := range r.header {
		r.value[name] = strings.TrimSpace(values[i])
	}
	for _, name := range columns[:3] {
		if r.value[name] == "" {
			return fmt.Errorf("%s is empty: expected a value in every line", name)
		}
	}
	h := Hold{Line: line, Process: r.value["process"], Lock: r.value["lock"], Mode: history.Mode(r.value["mode"]), SaidFrom: r.value["from"], SaidTo: r.value["to"]}
	if _, known := r.numbers[h.Process]; !known {
		r.numbers[h.Process] = len(r.numbers)
	}
	h.Client = r.numbers[h.Process]
	err := cmp.Or(r.time("from", &h.From), r.time("to", &h.To), r.time("deadline", &h.Until))
	switch {
	case err == nil && h.To < h.From:
		err = fmt.Errorf("to is %s, before from, %s: expected the end of a hold after its beginning", h.SaidTo, h.SaidFrom)
	case err == nil && h.Mode != "" && h.Mode != history.Read && h.Mode != history.Write:
		err = fmt.Errorf("mode is %q, expected %s or %s", h.Mode, history.Read, history.Write)
	}
	r.log.Holds = append(r.log.Holds, h)
	return err
}

var seconds = regexp.MustCompile(`^[0-9]+(\.[0-9]{1,9})?$`)

// time sets at to the time in a column, since 1970 if it is a date; to Never if there is none.
func (r *reader) time(column string, at *time.Duration) (err error) {
	text := r.value[column]
	counted := seconds.MatchString(text)
	switch {
	case text == "":
		*at = Never
		return nil
	case counted:
		*at, err = time.ParseDuration(text + "s")
	default:
		var date time.Time
		err = date.UnmarshalText([]byte(text))
		*at = date.Sub(time.Unix(0, 0)) // the greatest or least duration if date is out of its range
	}
	if err != nil || *at < 0 || *at > 4e9*time.Second { // no sum of 4e9 s and a clock error overflows
		return fmt.Errorf("%s is %q, expected RFC 3339 from 1970 to 2095 such as 2026-01-02T03:04:05.678Z, or seconds up to 4000000000 such as 12.345", column, text)
	}
	if r.first = cmp.Or(r.first, text); counted != seconds.MatchString(r.first) {
		return fmt.Errorf("%s is %s, but an earlier time is %s: expected either RFC 3339 or seconds in every line", column, text, r.first)
	}
	_, fraction, _ := strings.Cut(text, ".")
	digits := len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
	r.log.Fine = min(r.log.Fine, max(1, time.Duration(math.Pow10(9-digits))))
	return nil
}
