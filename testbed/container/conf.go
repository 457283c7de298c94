package container

import (
	"fmt"
	"strings"
)

// data is the path of the node's directory inside its container.
const data = "/data"

// Configuration files in the node's directory.
const (
	redisConf    = "redis.conf"    // written by furnish for each start
	sentinelConf = "sentinel.conf" // written by package live; the Sentinel rewrites it
)

// configuration returns a redis.conf with the options of a command line. Each option is a name that
// begins with --, followed by its values.
func configuration(args []string) (string, error) {
	var text strings.Builder
	for i, arg := range args {
		name, ok := strings.CutPrefix(arg, "--")
		switch {
		case ok && i > 0:
			text.WriteString("\n" + name)
		case ok:
			text.WriteString(name)
		case i == 0:
			return "", fmt.Errorf("option %q of redis.conf: want it to begin with --", arg)
		default:
			text.WriteString(" " + quote(arg))
		}
	}
	text.WriteString("\n")
	return text.String(), nil
}

// quote quotes a value for redis.conf, so that Redis reads every byte unchanged.
func quote(value string) string {
	var text strings.Builder
	text.WriteByte('"')
	for _, b := range []byte(value) {
		switch {
		case b == '"' || b == '\\':
			text.WriteByte('\\')
			text.WriteByte(b)
		case b < ' ' || b > '~':
			fmt.Fprintf(&text, `\x%02x`, b)
		default:
			text.WriteByte(b)
		}
	}
	text.WriteByte('"')
	return text.String()
}
