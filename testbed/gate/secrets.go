package gate

import (
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// redacted stands in the log for what only the server may know.
const redacted = "(redacted)"

// withoutPassword is a handshake as it may be stored: nothing of it that follows
// the word AUTH.
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
