package testbed

import (
	"errors"

	"github.com/lockstorm/lockstorm/history"
)

// Event returns the last entry of the history of a trial that broke down.
func (b *Breakdown) Event() history.Op {
	return history.Op{Process: history.Nemesis, Client: history.NoClient, F: b.Kind, Error: b.Detail}
}

// ErrRace ends a trial in which the race detector found a data race, in a program that was
// built with -race. Its report is on the stderr of the trial's process.
var ErrRace = errors.New("the race detector found a data race in the trial's process")
