package history

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
)

// ReadOps reads a history from JSON Lines, one entry a line, and checks that indices count up, that
// times do not decrease and that every completion fits an invocation. Errors start with
// "name:line: ", or with "name: " if an entry does not fit. A last line that was cut short (the run
// was killed while writing it) is left out and reported as truncated, which is not an error.
func ReadOps(r io.Reader, name string) (ops []Op, truncated error, err error) {
	last := -1
	truncated, err = ReadLines(r, name, func(line Entry) error {
		op, err := line.Complete()
		switch {
		case err != nil:
			return err
		case op.Index <= last:
			return fmt.Errorf("index is %d, expected more than %d", op.Index, last)
		case len(ops) > 0 && op.Time < ops[len(ops)-1].Time:
			return fmt.Errorf("time %d is before the previous entry's %d", op.Time, ops[len(ops)-1].Time)
		}
		last = op.Index
		ops = append(ops, op)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if _, err := Pairs(ops); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return ops, truncated, nil
}

// Entry is an Op as read from a file, where anything may be missing. A missing value
// must not become 0: with client 0 everywhere, all clients would be one owner; with time
// 0, no two holds would overlap.
type Entry struct {
	Op
	Index   *int           `json:"index"`
	Time    *time.Duration `json:"time"`
	Process *Process       `json:"process"`
	Client  *int           `json:"client"`
}

// Complete returns the Op, or an error that names a missing or invalid value. Only the index and the
// nemesis's client may be missing.
func (e Entry) Complete() (Op, error) {
	op := e.Op
	switch {
	case e.Process == nil:
		return Op{}, errors.New("process is missing")
	case e.Time == nil:
		return Op{}, errors.New("time is missing: nanoseconds since the start")
	case e.Client == nil && *e.Process != Nemesis:
		return Op{}, errors.New("client is missing: the owner on whose behalf the process acts")
	case op.Type != Invoke && op.Type != OK && op.Type != Fail && op.Type != Info:
		return Op{}, fmt.Errorf("type is %q, expected invoke, ok, fail or info", op.Type)
	case op.F == "":
		return Op{}, errors.New("f is missing")
	case *e.Process != Nemesis && !IsOperation(op.F):
		return Op{}, fmt.Errorf("f is %q, expected one of %s", op.F, strings.Join(operations, ", "))
	}
	op.Process, op.Time, op.Client = *e.Process, *e.Time, NoClient
	if e.Client != nil {
		op.Client = *e.Client
	}
	if e.Index != nil {
		op.Index = *e.Index
	}
	return op, nil
}

// ReadCommands reads a command log from JSON Lines, as ReadOps does, and
// returns it in order of Index.
func ReadCommands(r io.Reader, name string) (cmds []Command, truncated error, err error) {
	truncated, err = ReadLines(r, name, func(c Command) error {
		if len(c.Args) == 0 {
			return errors.New("args is missing")
		}
		cmds = append(cmds, c)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	SortCommands(cmds)
	return cmds, truncated, nil
}

// SortCommands orders a command log by Index. A log on disk is in the order in which
// commands ended.
func SortCommands(cmds []Command) {
	slices.SortStableFunc(cmds, func(a, b Command) int { return a.Index - b.Index })
}

// ReadLines decodes the JSON Lines in r and passes each value to add. Errors, including those of
// add, start with "name:line: ". A last line that was cut short is left out and reported as
// truncated, which is not an error. The same holds if r ends with io.ErrUnexpectedEOF, as a
// compressed file does after a kill. The pointers in an Entry are valid only until add returns.
func ReadLines[T any](r io.Reader, name string, add func(T) error) (truncated error, err error) {
	in := bufio.NewReader(r)
	var entries entryLines
	var line []byte
	var v T
	for n := 1; ; n++ {
		var rerr error
		line, rerr = appendLine(line[:0], in)
		if errors.Is(rerr, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%s:%d: the file is cut short; the %d lines before it are used", name, n, n-1), nil
		}
		if rerr != nil && rerr != io.EOF {
			return nil, fmt.Errorf("%s:%d: %w", name, n, rerr)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			v = *new(T)
			if err := entries.unmarshal(line, &v); err != nil {
				if rerr == io.EOF {
					return fmt.Errorf("%s:%d: the last line is cut short; the %d lines before it are used", name, n, n-1), nil
				}
				return nil, fmt.Errorf("%s:%d: %w", name, n, JSONProblem(err, line))
			}
			if err := add(v); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
		}
		if rerr == io.EOF {
			return nil, nil
		}
	}
}

// appendLine appends the next line, with its end, to line.
func appendLine(line []byte, in *bufio.Reader) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// JSONProblem says in plain words why text, one JSON object, could not be decoded. err is
// the decoder's error.
func JSONProblem(err error, text []byte) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("expected one JSON object per line, got %s", article(kind.Value))
	case errors.As(err, &kind):
		field := strings.TrimPrefix(kind.Field, "Op.") // Entry embeds Op
		return fmt.Errorf("%s is %s, expected %s", field, article(kind.Value), shapeOf(kind.Type))
	case errors.As(err, &syntax) && int(syntax.Offset) <= len(text) && syntax.Offset > 0 && !cutShort(syntax, text):
		return fmt.Errorf("expected one JSON object per line: it is no JSON from column %d on, at %q", syntax.Offset, excerpt(text[syntax.Offset-1:]))
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("expected one JSON object per line: it ends too early, is it cut short?")
	}
	return err // a type's own UnmarshalJSON made this error: its message is plain already
}

// cutShort reports whether the text ends before its JSON value is complete.
func cutShort(err *json.SyntaxError, text []byte) bool {
	return int(err.Offset) >= len(bytes.TrimSpace(text)) && !json.Valid(text) && strings.Contains(err.Error(), "unexpected end")
}

func excerpt(text []byte) string {
	const most = 20
	text = bytes.TrimSpace(text)
	return string(bytes.ToValidUTF8(text[:min(len(text), most)], nil))
}

// article adds the article to a kind of JSON value as encoding/json names it, such as "array" or
// "number 5".
func article(value string) string {
	switch {
	case value == "array" || value == "object":
		return "an " + value
	case value == "bool":
		return "true or false"
	}
	return "a " + value
}

// shapeOf describes the JSON that a Go type is decoded from.
func shapeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.Int, reflect.Int64:
		if t == reflect.TypeFor[time.Duration]() {
			return "a whole number of nanoseconds"
		}
		return "a whole number"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	}
	return "an object"
}

// Hash identifies a trial's outcome: SHA-256, in hex, of its history, commands
// and key changes as they are stored, each in order of their indices.
func Hash(e Evidence) string {
	h := sha256.New()
	var line []byte
	for _, op := range e.Ops {
		line = append(op.AppendJSON(line[:0]), '\n')
		h.Write(line)
	}
	sorted := slices.Clone(e.Commands)
	SortCommands(sorted)
	for _, c := range sorted {
		line = append(c.AppendJSON(line[:0]), '\n')
		h.Write(line)
	}
	for _, k := range e.Keys {
		line = append(k.AppendJSON(line[:0]), '\n')
		h.Write(line)
	}
	return hex.EncodeToString(h.Sum(nil))
}
