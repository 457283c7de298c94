package testbed

import (
	"regexp"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// Event returns the last entry of the history of a trial that broke down.
func (b *Breakdown) Event() history.Op {
	return history.Op{Process: history.Nemesis, Client: history.NoClient, F: b.Kind, Error: b.Detail}
}

// addresses matches the memory addresses in a text. They differ from run to run.
var addresses = regexp.MustCompile(`\b0x[0-9a-fA-F]{4,}\b`)

// OneLine returns a text as a Breakdown's Detail: on one line, without addresses.
func OneLine(text string) string {
	return strings.Join(strings.Fields(addresses.ReplaceAllString(text, "0x…")), " ")
}
