package applog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// entries reads invocations and completions. If the processes and clients of all rows are numbers, they
// are kept; otherwise all get new numbers. Dates become offsets from the earliest date.
func (r *reader) entries() error {
	processes := map[string]int{}
	byName := false // some process or client has a name instead of a number
	for _, w := range r.rows {
		for _, f := range []field{fProcess, fClient} {
			_, err := strconv.ParseUint(w.text(f), 10, 31)
			byName = byName || err != nil && w.has(f) && w.text(f) != "nemesis"
		}
	}
	for _, w := range r.rows {
		e, err := r.entry(w, processes, byName)
		if err != nil {
			return at(w.line, err)
		}
		r.log.Entries, r.log.Lines = append(r.log.Entries, e), append(r.log.Lines, w.line)
	}
	r.fromFirst()
	return nil
}

// fromFirst makes all times count from the earliest entry if they are dates, or if the earliest time
// is more than ten years, as in nanoseconds since 1970.
func (r *reader) fromFirst() {
	const long = 10 * 365 * 24 * time.Hour
	var base *time.Duration
	for _, e := range r.log.Entries {
		if e.Time != nil && (base == nil || *e.Time < *base) {
			base = e.Time
		}
	}
	if base == nil || !r.instants.dated && *base < long {
		return
	}
	from := *base
	for i := range r.log.Entries {
		e := &r.log.Entries[i]
		if e.Time != nil {
			at := *e.Time - from
			e.Time = &at
		}
		if e.Lease != nil && e.Lease.Deadline != 0 {
			e.Lease.Deadline = since(e.Lease.Deadline, from)
		}
	}
	if r.instants.dated {
		r.note("times count from " + time.Unix(0, int64(from)).UTC().Format(time.RFC3339Nano))
	}
}

// plainEvents lists the Op.F of each event of the nemesis that an application's log can state:
// events with at most a client and a time, such as "crash".
func plainEvents() (all []string) {
	for _, k := range history.EventKinds() {
		if k.Of != history.OfNode && !k.HasOffset && !k.Breakdown {
			all = append(all, k.F)
		}
	}
	return all
}

func (r *reader) entry(w row, processes map[string]int, byName bool) (e history.Entry, err error) {
	if e.Process, err = r.process(w, processes, byName); err != nil {
		return e, err
	}
	nemesis := *e.Process == history.Nemesis
	if w.has(fClient) {
		n := 0
		if byName {
			n = r.number(w.text(fClient))
		} else if n, err = strconv.Atoi(w.text(fClient)); err != nil {
			return e, fmt.Errorf("client is %q, expected a name or a number from 0", w.text(fClient))
		}
		e.Client = &n
	}
	if !w.has(fType) {
		return e, errors.New("type is missing: expected invoke, ok, fail or info")
	}
	if e.Op.Type, err = oneOf(fType, w.text(fType), typeWords); err != nil {
		return e, err
	}
	switch e.F = w.text(fF); {
	case e.F == "":
		return e, errors.New("f is missing: expected acquire, release, extend, read or write")
	case nemesis:
		if !slices.Contains(plainEvents(), e.F) {
			return e, fmt.Errorf("f of the nemesis is %q, expected one of %s; other events only in a history as Lockstorm writes it, with numbers for processes, clients and times", e.F, strings.Join(plainEvents(), ", "))
		}
	default:
		if e.F, err = oneOf(fF, e.F, fWords); err != nil {
			return e, err
		}
		if e.Op.Lock, err = r.lock(w); err != nil {
			return e, err
		}
	}
	if w.has(fTime) {
		t, err := r.instants.parse(fTime, w.cells[fTime], time.Nanosecond)
		if err != nil {
			return e, err
		}
		e.Time = &t
	}
	if w.has(fIndex) {
		n, err := strconv.Atoi(w.text(fIndex))
		if err != nil || n < 0 {
			return e, fmt.Errorf("index is %q, expected a whole number from 0", w.text(fIndex))
		}
		e.Index = &n
	}
	e.Error = w.text(fError)
	return e, r.details(&e, w)
}

// process returns the row's process. If the row has none, its client counts as the process.
func (r *reader) process(w row, processes map[string]int, byName bool) (*history.Process, error) {
	name := w.text(fProcess)
	if name == "" {
		name = w.text(fClient)
	}
	var p history.Process
	switch n, err := strconv.ParseUint(name, 10, 31); {
	case name == "":
		return nil, errors.New("process is missing: expected the number or the name of the thread that ran the operation")
	case name == "nemesis":
		p = history.Nemesis
	case !byName && err == nil:
		p = history.Process(n)
	default:
		if _, known := processes[name]; !known {
			processes[name] = len(processes)
			if !w.has(fClient) {
				r.number(name) // so that a note tells which number has which name
			}
		}
		p = history.Process(processes[name])
	}
	return &p, nil
}

// details sets the fields that only some entries have.
func (r *reader) details(e *history.Entry, w row) (err error) {
	if e.Op.Mode, err = oneOf(fMode, w.text(fMode), modeWords); err != nil {
		return err
	}
	lease := history.Lease{Token: w.text(fToken)}
	if w.has(fFence) {
		if lease.Fence, err = whole(w, fFence); err != nil {
			return err
		}
	}
	if w.has(fDeadline) {
		if lease.Deadline, err = r.instants.parse(fDeadline, w.cells[fDeadline], time.Nanosecond); err != nil {
			return err
		}
	}
	if lease != (history.Lease{}) {
		e.Lease = &lease
	}
	if w.has(fSeq) {
		if e.Seq, err = whole(w, fSeq); err != nil {
			return err
		}
	}
	if (e.F == history.FRead || e.F == history.FWrite) && w.has(fValue) {
		text := w.text(fValue)
		if !strings.HasPrefix(text, "[") {
			text = "[" + text + "]"
		}
		if json.Unmarshal([]byte(text), &e.Value) != nil {
			return fmt.Errorf("value is %s, expected the number that was read or written, or an array of numbers", w.text(fValue))
		}
	}
	return nil
}

func whole(w row, f field) (int64, error) {
	n, err := strconv.ParseInt(w.text(f), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is %q, expected a whole number", f, w.text(f))
	}
	return n, nil
}
