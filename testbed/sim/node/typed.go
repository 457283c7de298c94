package node

import (
	"math"
	"slices"
)

// Checks of commands before miniredis runs them. They are needed because miniredis's own
// checks are less strict than Redis's, or come in another order.

// integers lists, by command, the positions of integer arguments that Redis checks before
// it reads the key.
var integers = map[string][]int{
	"getrange": {2, 3}, "lrange": {2, 3}, "lrem": {2}, "ltrim": {2, 3}, "setrange": {2}, "zremrangebyrank": {2, 3},
}

// checked reports whether miniredis may run a command; if not, it replies with an error, or with
// null to LINDEX of a missing key.
func (n *Node) checked(c *command, args []string) (ok bool) {
	for _, i := range integers[c.name] {
		if _, isInt := parseInt(args[i]); !isInt {
			n.fail(notInteger)
			return false
		}
	}
	switch c.name {
	case "lindex", "lset":
		return n.checkedElement(c, args)
	case "lpop", "rpop", "spop":
		if len(args) > 2 {
			return n.checkedCount(c, args)
		}
	case "setbit", "getbit":
		if offset, isInt := parseInt(args[2]); !isInt || offset < 0 || offset/8 >= maxSize {
			n.fail("ERR bit offset is not an integer or out of range")
			return false
		}
	case "setrange":
		return n.checkedOffset(args[2])
	case "incrbyfloat", "hincrbyfloat":
		return n.checkedIncrement(c, args)
	case "srandmember", "hrandfield", "zrandmember":
		if len(args) > 2 {
			return n.checkedSample(args[2])
		}
	}
	return true
}

// maxSize bounds the offset, in bytes, of SETBIT, GETBIT and SETRANGE. maxSize/64 bounds the number of
// elements that SRANDMEMBER, HRANDFIELD and ZRANDMEMBER can request. So none of these commands exhausts
// the memory.
const maxSize = 64 << 20

// checkedElement checks that the key holds a list, and then that the index is an integer.
func (n *Node) checkedElement(c *command, args []string) bool {
	switch n.db.Type(args[1]) {
	case "":
		if c.name == "lset" {
			n.fail(noSuchKey)
		} else {
			n.null()
		}
		return false
	case "list":
	default:
		n.fail(wrongType)
		return false
	}
	_, isInt := parseInt(args[2])
	if !isInt {
		n.fail(notInteger)
	}
	return isInt
}

func (n *Node) checkedCount(c *command, args []string) bool {
	v, isInt := parseInt(args[2])
	switch {
	case len(args) > 3 && c.name == "spop":
		n.fail(syntax)
	case len(args) > 3:
		n.fail(wrongNumber(c.name))
	case !isInt || v < 0:
		n.fail("ERR value is out of range, must be positive")
	default:
		return true
	}
	return false
}

func (n *Node) checkedOffset(offset string) bool {
	switch v, _ := parseInt(offset); {
	case v < 0:
		n.fail("ERR offset is out of range")
	case v > maxSize:
		n.fail("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	default:
		return true
	}
	return false
}

// checkedIncrement refuses an increment that is not a finite number. For a string, Redis
// checks the key's value first; for a hash, it checks the increment first.
func (n *Node) checkedIncrement(c *command, args []string) bool {
	by, infinite := args[len(args)-1], "ERR value is NaN or Infinity"
	if c.name == "incrbyfloat" {
		infinite = "ERR increment would produce NaN or Infinity"
		if value, _, ok := n.text(args[1]); !ok {
			return false
		} else if _, isFloat := number(value); value != "" && !isFloat {
			n.fail("ERR value is not a valid float")
			return false
		}
	}
	v, isFloat := number(by)
	switch {
	case !isFloat || math.IsNaN(v):
		n.fail("ERR value is not a valid float")
	case math.IsInf(v, 0):
		n.fail(infinite)
	default:
		return true
	}
	return false
}

func (n *Node) checkedSample(count string) bool {
	switch v, isInt := parseInt(count); {
	case !isInt:
		n.fail(notInteger)
	case v < -maxSize/64 || v > maxSize/64:
		n.fail("ERR value is out of range")
	default:
		return true
	}
	return false
}

// spelled replaces empty scores by "0", as C's strtod parses them.
func spelled(c *command, args []string) []string {
	switch c.name {
	case "zcount", "zrangebyscore", "zrevrangebyscore", "zremrangebyscore":
	default:
		return args
	}
	for i := 2; i <= 3; i++ {
		if args[i] == "" || args[i] == "(" {
			args = slices.Clone(args)
			args[i] += "0"
		}
	}
	return args
}
