// Package input has the error type for invalid user input.
package input

import (
	"fmt"
	"strings"
)

// Error is an error in the user's input (a setting, a file, a directory). Its text names the input
// and says what was expected. A program that gets an Error exits with 254.
type Error struct {
	Err error
	// flagged is the text with each Setting written as a flag; "" if there is no Setting.
	flagged string
}

// Error returns the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Setting is the name of a setting that a program's user may choose, such as "ttl". The text of an
// Error has this name; Flagged replaces it by the flag "--ttl".
type Setting string

// flag is a Setting that is printed as a flag.
type flag Setting

// String returns the flag.
func (f flag) String() string { return "--" + string(f) }

// Errorf makes an Error. Arguments may be Settings, with the verb %s.
func Errorf(format string, args ...any) error {
	e := &Error{Err: fmt.Errorf(format, args...)}
	flagged, found := make([]any, len(args)), false
	for i, a := range args {
		if s, ok := a.(Setting); ok {
			a, found = flag(s), true
		}
		flagged[i] = a
	}
	if found {
		e.flagged = fmt.Errorf(format, flagged...).Error()
	}
	return e
}

// Flagged returns the text of err for users of a program, with Settings written as flags.
func Flagged(err error) string {
	text := err.Error()
	for _, e := range all(err) {
		if e.flagged != "" {
			text = strings.ReplaceAll(text, e.Error(), e.flagged)
		}
	}
	return text
}

// all returns the Errors in the tree of err, outer ones first.
func all(err error) (found []*Error) {
	if e, ok := err.(*Error); ok {
		found = append(found, e)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			found = append(found, all(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			found = append(found, all(inner)...)
		}
	}
	return found
}
