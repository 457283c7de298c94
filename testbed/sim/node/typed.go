package node

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// typed runs a command on miniredis, and accounts for its changes.
func (c call) typed() written {
	mark := len(c.out)
	if check := checks[c.command.name]; check != nil {
		if refusal := check(c); refusal != "" {
			return c.fail(refusal)
		}
	}
	if c.command.name == "lindex" && !c.db.Exists(c.args[1]) {
		return c.null() // whatever the index
	}
	if c.command.name == "hdel" && c.keepsFields(c.args[1], c.args[2:]) {
		return c.int(0)
	}
	c.drew = c.drew || c.command.is(random)
	c.dispatch(spelled(c.command, c.args))
	if c.command.is(unordered) {
		sortBulks(c.out[mark:])
	}
	if c.resp3 && (c.out[mark] == '*' || c.out[mark] == '%') {
		c.shape3(mark)
	}
	if !c.command.Is(resp.Write) || c.command.changedNothing(c.out[mark:]) {
		return written{}
	}
	for _, key := range c.command.written(c.args) {
		if c.command.is(overwrites) {
			delete(c.deadlines, key)
			if bytes.Equal(c.out[mark:], []byte(":0\r\n")) {
				c.db.Del(key) // miniredis keeps empty sets
			}
		}
		c.touch(key)
	}
	return written{}
}

// dispatch runs a command on miniredis. If miniredis panics, the reply is an error.
func (n *Node) dispatch(args []string) {
	mark := len(n.out)
	defer func() {
		if p := recover(); p != nil {
			// Release miniredis's lock, whether it was held or not.
			n.store.TryLock()
			n.store.Unlock()
			n.writer.Reset(n.clients)
			n.out = n.out[:mark]
			text := fmt.Sprintf("the simulated node failed at '%s': %v", args[0], p)
			n.lacking = cmp.Or(n.lacking, text)
			n.fail("ERR " + text)
		}
	}()
	n.peer.Resp3 = n.resp3
	n.types.Dispatch(n.peer, args)
	_ = n.writer.Flush() // never fails: it appends to out
}

// checks are checks of commands before miniredis runs them; they return the error reply. They are
// needed because miniredis's own checks are less strict than Redis's, or come in another order.
var checks = map[string]func(call) (refusal string){
	"lindex": call.checkElement, "lset": call.checkElement,
	"lpop": call.checkCount, "rpop": call.checkCount, "spop": call.checkCount,
	"setbit": call.checkBit, "getbit": call.checkBit,
	"setrange": func(c call) string {
		switch offset := c.integer(2); {
		case offset < 0:
			return "ERR offset is out of range"
		case offset > maxSize:
			return "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
		}
		return ""
	},
	"incrbyfloat": func(c call) string {
		// For a string, Redis checks the key's value first; for a hash, it checks the increment first.
		value, _, ok := c.value(c.args[1])
		if !ok {
			return wrongType
		}
		if _, isFloat := number(value); value != "" && !isFloat {
			return notFloat
		}
		return checkIncrement(c.args[2], "ERR increment would produce NaN or Infinity")
	},
	"hincrbyfloat": func(c call) string { return checkIncrement(c.args[3], "ERR value is NaN or Infinity") },
	"srandmember":  call.checkSample, "hrandfield": call.checkSample, "zrandmember": call.checkSample,
}

// maxSize bounds the offset, in bytes, of SETBIT, GETBIT and SETRANGE. maxSize/64 bounds the number of
// elements that SRANDMEMBER, HRANDFIELD and ZRANDMEMBER can request. So none of these commands exhausts
// the memory.
const maxSize = 64 << 20

// checkElement checks that the key holds a list, and then that the index is an integer.
func (c call) checkElement() string {
	switch kind := c.db.Type(c.args[1]); {
	case kind == "" && c.command.name == "lset":
		return noSuchKey
	case kind != "" && kind != "list":
		return wrongType
	case kind == "":
		return ""
	}
	if _, isInt := parseInt(c.args[2]); !isInt {
		return notInteger
	}
	return ""
}

func (c call) checkCount() string {
	if len(c.args) == 2 {
		return ""
	}
	v, isInt := parseInt(c.args[2])
	switch {
	case len(c.args) > 3 && c.command.name == "spop":
		return syntax
	case len(c.args) > 3:
		return wrongNumber(c.command.name)
	case !isInt || v < 0:
		return "ERR value is out of range, must be positive"
	}
	return ""
}

func (c call) checkBit() string {
	if offset, isInt := parseInt(c.args[2]); !isInt || offset < 0 || offset/8 >= maxSize {
		return "ERR bit offset is not an integer or out of range"
	}
	return ""
}

// checkIncrement refuses an increment that is not a finite number; infinite is the error reply if it is infinite.
func checkIncrement(by, infinite string) string {
	v, isFloat := number(by)
	switch {
	case !isFloat || math.IsNaN(v):
		return notFloat
	case math.IsInf(v, 0):
		return infinite
	}
	return ""
}

func (c call) checkSample() string {
	if len(c.args) == 2 {
		return ""
	}
	switch v, isInt := parseInt(c.args[2]); {
	case !isInt:
		return notInteger
	case v < -maxSize/64 || v > maxSize/64:
		return "ERR value is out of range"
	}
	return ""
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
