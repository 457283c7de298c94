package testbed

import "strings"

// TeardownError says in one line what a trial may have left behind. The error of
// Testbed.Run has it whatever else that tells: it is the harness's, also if the code
// under test ended the trial.
type TeardownError struct{ Err error }

// Error implements error.
func (e *TeardownError) Error() string {
	return "tear down: " + strings.ReplaceAll(e.Err.Error(), "\n", "; ")
}

// Unwrap returns what failed.
func (e *TeardownError) Unwrap() error { return e.Err }
