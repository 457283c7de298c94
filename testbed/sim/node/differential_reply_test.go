package node_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// value is a parsed RESP message.
type value struct {
	kind  byte
	text  string // the text of a scalar
	null  bool
	elems []value
}

// parse parses a message, which resp.Read read or the simulated node wrote. For most malformed
// bytes of the simulated node it returns the zero value, which equals no valid message.
func parse(m []byte) value {
	v, _ := parseValue(m)
	return v
}

func parseValue(b []byte) (value, []byte) {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return value{}, nil
	}
	v := value{kind: line[0], text: string(line[1:])}
	n, err := strconv.Atoi(v.text)
	switch v.kind {
	case '$', '=', '!':
		switch {
		case err != nil || n >= 0 && n+2 > len(rest): // cut short
			return value{}, nil
		case n < 0:
			return value{kind: v.kind, null: true}, rest
		}
		v.text = string(rest[:n])
		return v, rest[n+2:]
	case '*', '~', '>', '%', '|':
		v.text, v.null = "", n < 0
		if v.kind == '%' || v.kind == '|' {
			n *= 2
		}
		for range n {
			if len(rest) == 0 {
				return value{}, nil
			}
			var e value
			e, rest = parseValue(rest)
			v.elems = append(v.elems, e)
		}
	}
	return v, rest
}

// messages splits the simulated node's answer into messages. Malformed bytes become one
// message.
func messages(b []byte) []resp.Message {
	var all []resp.Message
	for len(b) > 0 {
		_, rest := parseValue(b)
		n := len(b) - len(rest)
		if n == 0 {
			n = len(b)
		}
		all = append(all, resp.Message(b[:n]))
		b = b[n:]
	}
	return all
}

// isPush reports whether a message is pushed and not a reply.
func isPush(m resp.Message) bool {
	if m[0] != '*' && m[0] != '>' {
		return false
	}
	v := parse(m)
	if len(v.elems) == 0 {
		return false
	}
	switch v.elems[0].text {
	case "message", "pmessage", "invalidate":
		return len(v.elems) >= 2
	}
	return false
}

// normalisers remove differences that are allowed between the replies of the two nodes, such as
// the order of a set.
var normalisers = map[string]func(value) value{
	"TIME":      blank, // timely checks the simulated node's time
	"CLIENT ID": blank,
	"HELLO":     hello,
	"HGETALL":   pairs,
	"HKEYS":     sorted,
	"HVALS":     sorted,
	"SMEMBERS":  sorted,
	"KEYS":      sorted,

	"PUBSUB CHANNELS": sorted,
}

// blank removes all texts, except errors, and keeps the structure.
func blank(v value) value {
	if len(v.elems) == 0 {
		if v.kind != '-' {
			v.text = ""
		}
		return v
	}
	v.elems = slices.Clone(v.elems)
	for i := range v.elems {
		v.elems[i] = blank(v.elems[i])
	}
	return v
}

// hello removes the version of the server and the ID of the connection.
func hello(v value) value {
	v.elems = slices.Clone(v.elems)
	for i := 0; i+1 < len(v.elems); i += 2 {
		switch v.elems[i].text {
		case "version", "id":
			v.elems[i+1].text = ""
		}
	}
	return v
}

// sorted sorts the elements of a reply whose order is arbitrary.
func sorted(v value) value {
	v.elems = slices.Clone(v.elems)
	slices.SortFunc(v.elems, func(a, b value) int { return strings.Compare(a.text, b.text) })
	return v
}

// pairs sorts the fields of a hash, together with their values.
func pairs(v value) value {
	var fields [][2]value
	for i := 0; i+1 < len(v.elems); i += 2 {
		fields = append(fields, [2]value{v.elems[i], v.elems[i+1]})
	}
	slices.SortFunc(fields, func(a, b [2]value) int { return strings.Compare(a[0].text, b[0].text) })
	v.elems = nil
	for _, f := range fields {
		v.elems = append(v.elems, f[0], f[1])
	}
	return v
}

// equal compares normalised values.
func equal(a, b value) bool {
	return a.kind == b.kind && a.text == b.text && a.null == b.null && slices.EqualFunc(a.elems, b.elems, equal)
}

// commandName returns a command's name in upper case. For CLIENT, SCRIPT and PUBSUB, it
// includes the subcommand.
func commandName(args []string) string {
	name := strings.ToUpper(args[0])
	if len(args) > 1 && (name == "CLIENT" || name == "SCRIPT" || name == "PUBSUB") {
		name += " " + strings.ToUpper(args[1])
	}
	return name
}

// patternsSorted parses pushed messages. If several patterns match one published message,
// patternsSorted sorts the messages for these patterns: Redis keeps patterns in a hash table,
// whose order differs between processes.
func patternsSorted(all []resp.Message) []value {
	var values []value
	for _, m := range all {
		values = append(values, parse(m))
	}
	for i := 0; i < len(values); {
		end := i + 1
		for end < len(values) && samePublication(values[i], values[end]) {
			end++
		}
		slices.SortFunc(values[i:end], func(a, b value) int { return strings.Compare(a.elems[1].text, b.elems[1].text) })
		i = end
	}
	return values
}

func samePublication(a, b value) bool {
	return len(a.elems) == 4 && len(b.elems) == 4 && a.elems[0].text == "pmessage" && b.elems[0].text == "pmessage" &&
		slices.EqualFunc(a.elems[2:], b.elems[2:], equal)
}

// leavesAll reports whether a command ends all subscriptions of a session. Redis confirms the
// channels in an arbitrary order.
func leavesAll(args []string) bool {
	return len(args) == 1 && strings.HasSuffix(strings.ToUpper(args[0]), "UNSUBSCRIBE")
}

// sortedLeaving sorts the channels in the confirmations of an unsubscription, and leaves the
// remaining counts in their order.
func sortedLeaving(all []resp.Message) []resp.Message {
	var names, counts []string
	for _, m := range all {
		v := parse(m)
		if len(v.elems) != 3 {
			return all
		}
		names = append(names, string(v.elems[0].kind)+v.elems[0].text+string(v.elems[1].kind)+v.elems[1].text)
		counts = append(counts, v.elems[2].text)
	}
	slices.Sort(names)
	sorted := make([]resp.Message, len(all))
	for i := range all {
		sorted[i] = resp.Message("*2\r\n$" + strconv.Itoa(len(names[i])) + "\r\n" + names[i] + "\r\n:" + counts[i] + "\r\n")
	}
	return sorted
}

func TestAMessageThatIsCutShortEqualsNoWholeOne(t *testing.T) {
	whole := "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
	for n := range len(whole) {
		v := parse([]byte(whole[:n]))
		if last := len(v.elems) - 1; v.kind != 0 && (last < 0 || v.elems[last].kind != 0) {
			t.Errorf("%q: got %+v, want a message that is cut short", whole[:n], v)
		}
	}
	if v := parse([]byte(whole)); v.kind != '*' || len(v.elems) != 2 || v.elems[1].text != "k" {
		t.Errorf("the whole message: got %+v", v)
	}
	if v := parse([]byte("$5\r\nab")); v.kind != 0 {
		t.Errorf("a bulk string that is cut short: got %+v", v)
	}
	if v := parse([]byte("$-1\r\n")); v.kind != '$' || !v.null {
		t.Errorf("a null: got %+v", v)
	}
}
