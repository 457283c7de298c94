package campaign

import "fmt"

// InputError is an error of what the user gave (a flag, a file, a directory):
// its text names it and says what was expected. Programs exit with 254.
type InputError struct{ Err error }

// Error is the text of the wrapped error.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *InputError) Unwrap() error { return e.Err }

// Inputf makes an InputError.
func Inputf(format string, args ...any) error {
	return &InputError{fmt.Errorf(format, args...)}
}
