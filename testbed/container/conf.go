package container

import (
	"fmt"
	"strconv"
	"strings"
)

// data is where a container has its node's directory.
const data = "/data"

// Configuration files in the node's directory.
const (
	redisConf    = "redis.conf"    // ours, written anew for each start
	sentinelConf = "sentinel.conf" // the caller's
)

// basics are the options that every server has; what follows overrides them. It
// listens on all addresses of its container, which it has to itself.
func basics(port int) []string {
	return []string{"--port", strconv.Itoa(port), "--protected-mode", "no", "--daemonize", "no", "--dir", data}
}

// configuration is a redis.conf with the options of a command line. As on one,
// each begins with -- and its values follow.
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

// quote writes a value so that Redis reads it as it is, whatever is in it.
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
