package node

import (
	"bytes"
	"slices"
	"strings"
)

// sortBulks sorts the elements of a reply that is a flat set or array.
func sortBulks(reply []byte) {
	if reply[0] == '-' {
		return
	}
	body := reply[bytes.IndexByte(reply, '\n')+1:]
	elements := flat(bytes.Clone(body))
	slices.SortFunc(elements, func(a, b []byte) int {
		return bytes.Compare(a[bytes.IndexByte(a, '\n'):], b[bytes.IndexByte(b, '\n'):])
	})
	copy(body, bytes.Join(elements, nil))
}

// flat splits the body of a reply into its elements. No element may be an array.
func flat(body []byte) (elements [][]byte) {
	for len(body) > 0 {
		end := bytes.IndexByte(body, '\n') + 1
		if body[0] == '$' {
			if length, _ := parseInt(string(body[1 : end-2])); length >= 0 {
				end += int(length) + 2
			}
		}
		elements = append(elements, body[:end])
		body = body[end:]
	}
	return elements
}

// shape3 converts a reply of miniredis to its RESP3 form: some arrays become sets. Members and
// their scores, or fields and their values, become pairs.
func (c call) shape3(mark int) {
	reply := c.out[mark:]
	switch name := c.command.name; {
	case c.command.is(unordered), name == "spop" && len(c.args) == 3:
		reply[0] = '~'
	case reply[0] == '%' && name != "hrandfield":
	case (name == "zpopmin" || name == "zpopmax") && len(c.args) == 3, withPairs(c.args):
		elements := flat(bytes.Clone(reply[bytes.IndexByte(reply, '\n')+1:]))
		c.out = c.out[:mark]
		c.array(len(elements) / 2)
		for i, e := range elements {
			if i%2 == 0 {
				c.array(2)
			}
			c.out = append(c.out, e...)
		}
	}
}

func withPairs(args []string) bool {
	return slices.ContainsFunc(args[min(2, len(args)):], func(arg string) bool {
		return strings.EqualFold(arg, "WITHSCORES") || strings.EqualFold(arg, "WITHVALUES")
	})
}
