package wording

import (
	"regexp"
	"strings"
)

// addresses matches the memory addresses in a text. They differ from run to run.
var addresses = regexp.MustCompile(`\b0x[0-9a-fA-F]{4,}\b`)

// OneLine returns a text on one line, without memory addresses.
func OneLine(text string) string {
	return strings.Join(strings.Fields(addresses.ReplaceAllString(text, "0x…")), " ")
}
