package jepsen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/history/applog"
)

// isLog reports whether a file is an application's log. Such a log is CSV, or JSON whose first
// object lacks a key that every entry of a history has.
func isLog(text []byte, name string) bool {
	text = bytes.TrimSpace(text)
	if applog.IsCSV(text, name) {
		return true
	}
	var first map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(bytes.TrimLeft(text, "[ \t\r\n")))
	if len(text) == 0 || d.Decode(&first) != nil {
		return false
	}
	return slices.ContainsFunc([]string{"process", "type", "f"}, func(name string) bool { return first[name] == nil })
}

func readLog(text []byte, name string) (Reading, error) {
	log, err := applog.Read(text, name)
	if err != nil {
		return Reading{}, err
	}
	r := Reading{Foreign: true, Notes: log.Notes}
	if log.Kind != applog.Entries {
		r.Log = &log
		return r, nil
	}
	for i, e := range log.Entries {
		if err := r.add(e, i+1); err != nil {
			return Reading{}, fmt.Errorf("%s:%d: %w", name, log.Lines[i], err)
		}
	}
	if err := r.finish(name); err != nil {
		var m *history.MisfitError
		if errors.As(err, &m) {
			err = fmt.Errorf("%s:%d: %w", name, log.Lines[m.At], m)
		}
		return Reading{}, err
	}
	r.unordered()
	return r, nil
}
