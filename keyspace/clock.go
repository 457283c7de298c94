package keyspace

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// AsksTime reports whether one of the commands asked a node for its time, directly with TIME or in
// a script whose source one of the commands has.
func AsksTime(commands []history.Command) bool {
	return slices.ContainsFunc(commands, func(c history.Command) bool {
		return len(c.Args) > 0 && (strings.EqualFold(string(c.Args[0]), "time") ||
			slices.ContainsFunc(c.Args[1:], func(arg history.Bytes) bool { return callsTime.MatchString(string(arg)) }))
	})
}

// callsTime matches a call of TIME in a script.
var callsTime = regexp.MustCompile(`\bredis\.p?call\s*\(\s*['"](?i:time)['"]`)
