package gate

import (
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// redacted replaces passwords in the log.
const redacted = "(redacted)"

// withoutPassword returns the arguments of AUTH or HELLO with everything after the first word AUTH
// redacted. It does not change other commands.
func withoutPassword(args []history.Bytes) []history.Bytes {
	name := resp.Name(args)
	if name != "AUTH" && name != "HELLO" {
		return args
	}
	safe := make([]history.Bytes, len(args))
	secret := false
	for i, a := range args {
		safe[i] = a
		if secret {
			safe[i] = redacted
		}
		secret = secret || strings.EqualFold(string(a), "AUTH")
	}
	return safe
}
