package testbed

import (
	"regexp"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// Event is the history's last entry in a trial that broke down.
func (b *Breakdown) Event() history.Op {
	return history.Op{Process: history.Nemesis, Client: history.NoClient, F: b.Kind, Error: b.Detail}
}

// addresses differ from run to run.
var addresses = regexp.MustCompile(`\b0x[0-9a-fA-F]{4,}\b`)

// OneLine makes a Breakdown's Detail of a text: one line, and no addresses.
func OneLine(text string) string {
	return strings.Join(strings.Fields(addresses.ReplaceAllString(text, "0x…")), " ")
}
