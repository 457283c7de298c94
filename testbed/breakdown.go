package testbed

import (
	"errors"

	"github.com/lockstorm/lockstorm/history"
)

// Event returns the breakdown as an operation: the last entry of the trial's history.
func (b *Breakdown) Event() history.Op {
	return history.Op{Process: history.Nemesis, Client: history.NoClient, F: b.Kind, Error: b.Detail}
}

// ErrRace ends a trial in which the race detector found a data race. This requires a program
// that was built with -race. The detector's report is on the stderr of the trial's process.
var ErrRace = errors.New("the race detector found a data race in the trial's process")
