package testbed

import (
	"errors"
	"regexp"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// Event returns the last entry of the history of a trial that broke down.
func (b *Breakdown) Event() history.Op {
	return history.Op{Process: history.Nemesis, Client: history.NoClient, F: b.Kind, Error: b.Detail}
}

// ErrRace ends a trial in which the race detector found a data race, in a program that was
// built with -race. Its report is on the stderr of the trial's process.
var ErrRace = errors.New("the race detector found a data race in the trial's process")

// addresses matches the memory addresses in a text. They differ from run to run.
var addresses = regexp.MustCompile(`\b0x[0-9a-fA-F]{4,}\b`)

// OneLine returns a text as a Breakdown's Detail: on one line, without addresses.
func OneLine(text string) string {
	return strings.Join(strings.Fields(addresses.ReplaceAllString(text, "0x…")), " ")
}
