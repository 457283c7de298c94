// Package input has the error type for invalid user input.
package input

import "fmt"

// Error is an error of what the user gave (a flag, a file, a directory):
// its text names it and says what was expected. Programs exit with 254.
type Error struct{ Err error }

// Error is the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error.
func Errorf(format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...)}
}
