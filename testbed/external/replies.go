package external

import (
	"bytes"
	"strconv"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// strip removes the prefix wherever it occurs in a reply. Values do not contain the prefix
// by chance, and clients do not know it.
func (g *guard) strip(m resp.Message) []byte {
	prefix := []byte(g.prefix)
	if !bytes.Contains(m, prefix) {
		return m
	}
	var out []byte
	for rest := []byte(m); len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, crlf)
		rest = after
		n, err := strconv.Atoi(string(line[1:]))
		if !bytes.ContainsAny(line[:1], "$=!") || err != nil || n < 0 || n+len(crlf) > len(rest) {
			out = append(append(out, bytes.ReplaceAll(line, prefix, nil)...), crlf...)
			continue
		}
		text := bytes.ReplaceAll(rest[:n], prefix, nil)
		rest = rest[n+len(crlf):]
		out = append(out, line[0])
		out = append(append(strconv.AppendInt(out, int64(len(text)), 10), crlf...), text...)
		out = append(out, crlf...)
	}
	return out
}

var crlf = []byte("\r\n")

// encode returns a command as an array of bulk strings.
func encode(args ...string) []byte {
	out := append(strconv.AppendInt([]byte("*"), int64(len(args)), 10), crlf...)
	for _, a := range args {
		out = append(strconv.AppendInt(append(out, '$'), int64(len(a)), 10), crlf...)
		out = append(append(out, a...), crlf...)
	}
	return out
}
