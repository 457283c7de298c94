package node

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// stringCommands run the commands for strings, and HINCRBY.
var stringCommands = map[string]handler{
	"get": func(c call) written {
		value, exists, ok := c.value(c.args[1])
		if !ok {
			return c.fail(wrongType)
		}
		return c.bulkIf(exists, c.distinct(c.args[1], value))
	},
	"set": call.set,
	"setnx": func(c call) written {
		if c.db.Exists(c.args[1]) || c.refuses("", c.args[1]) {
			return c.int(0)
		}
		c.overwrite(c.args[1], c.args[2])
		return c.int(1)
	},
	"setex":  func(c call) written { return c.setFor("EX") },
	"psetex": func(c call) written { return c.setFor("PX") },
	"getex":  call.getex,
	"getset": func(c call) written {
		value, exists, ok := c.value(c.args[1])
		if !ok {
			return c.fail(wrongType)
		}
		if !c.refuses("", c.args[1]) {
			c.overwrite(c.args[1], c.args[2])
		}
		return c.bulkIf(exists, value)
	},
	"getdel": func(c call) written {
		value, exists, ok := c.value(c.args[1])
		if !ok {
			return c.fail(wrongType)
		}
		c.remove(c.args[1])
		return c.bulkIf(exists, value)
	},
	"mget": func(c call) written {
		c.array(len(c.args) - 1)
		for _, key := range c.args[1:] {
			value, err := c.db.Get(key)
			c.bulkIf(err == nil, value)
		}
		return written{}
	},
	"mset": func(c call) written {
		if len(c.args)%2 == 0 {
			return c.fail(wrongNumber("mset"))
		}
		c.setAll()
		return c.ok()
	},
	"msetnx": func(c call) written {
		if len(c.args)%2 == 0 {
			return c.fail(wrongNumber("msetnx"))
		}
		for i := 1; i < len(c.args); i += 2 {
			if c.db.Exists(c.args[i]) {
				return c.int(0)
			}
		}
		c.setAll()
		return c.int(1)
	},
	"incr":   func(c call) written { return c.add(1) },
	"decr":   func(c call) written { return c.add(-1) },
	"incrby": func(c call) written { return c.add(c.integer(2)) },
	"decrby": func(c call) written {
		if c.integer(2) == math.MinInt64 {
			return c.fail("ERR decrement would overflow")
		}
		return c.add(-c.integer(2))
	},
	"hincrby": call.addToField,
}

// integer returns an argument that is an integer (command.integers).
func (c call) integer(at int) int64 {
	v, _ := parseInt(c.args[at])
	return v
}

// value returns the value of a string key. ok is false if the key has another type.
func (k *keyspace) value(key string) (value string, exists, ok bool) {
	value, err := k.db.Get(key)
	return value, err == nil, !errors.Is(err, miniredis.ErrWrongType)
}

func (c call) setAll() {
	for i := 1; i < len(c.args); i += 2 {
		c.overwrite(c.args[i], c.args[i+1])
	}
}

// setOptions are the options of SET and GETEX.
type setOptions struct {
	nx, xx, get, keepTTL, persist bool
	newer                         string // a newer option, which the node does not support; "" = none

	unit     string // EX, PX, EXAT or PXAT
	lifetime string
}

// parse parses the options of SET or, if getex is true, the fewer options of GETEX. If an
// option comes twice, the last value counts. parse returns false on a syntax error.
func (o *setOptions) parse(args []string, getex bool) bool {
	for i := 0; i < len(args); i++ {
		switch option := strings.ToUpper(args[i]); option {
		case "NX":
			o.nx = true
		case "XX":
			o.xx = true
		case "GET":
			o.get = true
		case "KEEPTTL":
			o.keepTTL = true
		case "PERSIST":
			o.persist = true
		case "EX", "PX", "EXAT", "PXAT":
			if i++; i == len(args) || o.unit != "" && o.unit != option {
				return false
			}
			o.unit, o.lifetime = option, args[i]
		case "IFEQ", "IFNE", "IFDEQ", "IFDNE": // Redis 8.4; IFEQ also Valkey 8.1
			if i++; i == len(args) || getex {
				return false
			}
			o.newer = strings.ToLower(option)
		default:
			return false
		}
	}
	switch {
	case o.nx && o.xx, o.unit != "" && (o.keepTTL || o.persist):
		return false
	case getex:
		return !o.nx && !o.xx && !o.get && !o.keepTTL
	}
	return !o.persist
}

// deadline converts a lifetime in a unit to Unix milliseconds of the node's clock, or returns the
// error reply. Without a unit it returns 0.
func (c call) deadline(unit, lifetime string) (ms int64, refusal string) {
	if unit == "" {
		return 0, ""
	}
	v, ok := parseInt(lifetime)
	if !ok {
		return 0, notInteger
	}
	if ms, ok = c.absolute(unit, v); v <= 0 || !ok {
		return 0, invalidExpire(c.command.name)
	}
	return ms, ""
}

func (c call) set() written {
	key := c.args[1]
	var o setOptions
	if len(c.args) > 3 && !o.parse(c.args[3:], false) {
		return c.fail(syntax)
	}
	if o.newer != "" {
		return c.fail(c.lacks("the option '" + o.newer + "' of the command 'set'"))
	}
	ms, refusal := c.deadline(o.unit, o.lifetime)
	if refusal != "" {
		return c.fail(refusal)
	}
	if o.get {
		value, exists, ok := c.value(key)
		if !ok {
			return c.fail(wrongType)
		}
		c.bulkIf(exists, value)
	}
	check := ""
	if o.xx {
		check = remedy.OwnRenewal
	}
	if (o.nx || o.xx) && c.db.Exists(key) != o.xx || c.refuses(check, key) {
		if !o.get {
			c.null()
		}
		return written{}
	}
	old, lives := c.deadlines[key]
	c.overwrite(key, c.args[2])
	switch {
	case o.unit != "":
		c.live(key, ms)
	case o.keepTTL && lives:
		c.setDeadline(key, old)
	}
	if !o.get {
		c.ok()
	}
	return written{}
}

func (c call) setFor(unit string) written {
	ms, refusal := c.deadline(unit, c.args[2])
	if refusal != "" {
		return c.fail(refusal)
	}
	if c.refuses("", c.args[1]) {
		return c.null()
	}
	c.overwrite(c.args[1], c.args[3])
	c.live(c.args[1], ms)
	return c.ok()
}

func (c call) getex() written {
	key := c.args[1]
	var o setOptions
	if !o.parse(c.args[2:], true) {
		return c.fail(syntax)
	}
	value, exists, ok := c.value(key)
	switch {
	case !ok:
		return c.fail(wrongType)
	case !exists:
		return c.null()
	}
	ms, refusal := c.deadline(o.unit, o.lifetime)
	switch {
	case refusal != "":
		return c.fail(refusal)
	case o.unit != "" && ms <= c.nowMs:
		c.remove(key)
	case o.unit != "":
		c.live(key, ms)
	case o.persist:
		c.persist(key)
	}
	return c.bulk(value)
}

const wouldOverflow = "ERR increment or decrement would overflow"

// add increments an integer string by the given number and replies with the result.
func (c call) add(by int64) written {
	key := c.args[1]
	value, exists, ok := c.value(key)
	if !ok {
		return c.fail(wrongType)
	}
	var old int64
	if exists {
		if old, ok = parseInt(value); !ok {
			return c.fail(notInteger)
		}
	}
	if overflows(old, by) {
		return c.fail(wouldOverflow)
	}
	_ = c.db.Set(key, strconv.FormatInt(old+by, 10)) // cannot fail: the key is a string or absent
	c.touch(key)
	return c.int(old + by)
}

func overflows(a, b int64) bool {
	return b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b
}

func (c call) addToField() written {
	key, field, by := c.args[1], c.args[2], c.integer(3)
	if kind := c.db.Type(key); kind != "hash" && kind != "" {
		return c.fail(wrongType)
	}
	var old int64
	if value := c.db.HGet(key, field); value != "" || c.hasField(key, field) {
		var ok bool
		if old, ok = parseInt(value); !ok {
			return c.fail("ERR hash value is not an integer")
		}
	}
	if overflows(old, by) {
		return c.fail(wouldOverflow)
	}
	c.db.HSet(key, field, strconv.FormatInt(old+by, 10))
	c.touch(key)
	return c.int(old + by)
}

// hasField reports whether a hash has a field, even if the field's value is empty.
func (k *keyspace) hasField(key, field string) bool {
	fields, _ := k.db.HKeys(key) // an error means that there are none
	return slices.Contains(fields, field)
}
