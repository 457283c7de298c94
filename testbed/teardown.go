package testbed

import (
	"fmt"
	"strings"
)

// TeardownError says in one line what a trial may have left behind. The error of
// Testbed.Run contains it whatever else failed: it is the harness's, even if the code
// under test ended the trial.
type TeardownError struct{ Err error }

// Error implements error.
func (e *TeardownError) Error() string {
	return "tear down: " + strings.ReplaceAll(e.Err.Error(), "\n", "; ")
}

// Unwrap returns what failed.
func (e *TeardownError) Unwrap() error { return e.Err }

// JoinErrors is errors.Join of two errors, each nil or of one line, on one line.
func JoinErrors(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}

// Tell calls a callback such as the down of Nodes.Kill, unless it is nil.
func Tell(of func() error) error {
	if of == nil {
		return nil
	}
	return of()
}
