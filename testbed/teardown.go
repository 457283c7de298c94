package testbed

import (
	"fmt"
	"strings"
)

// TeardownError says in one line what a trial may have left behind. If the teardown fails,
// Testbed.Run's error contains a TeardownError. The failure is the harness's, even if the
// code under test ended the trial.
type TeardownError struct{ Err error }

// Error implements error.
func (e *TeardownError) Error() string {
	return "tear down: " + strings.ReplaceAll(e.Err.Error(), "\n", "; ")
}

// Unwrap returns Err.
func (e *TeardownError) Unwrap() error { return e.Err }

// JoinErrors is errors.Join, but on one line. Each argument is nil or has one line.
func JoinErrors(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}
