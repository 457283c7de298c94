package node

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// keyCommands run the commands for keys of any type.
var keyCommands = map[string]handler{
	"del": func(c call) written { return c.countKeys(c.remove) }, "unlink": func(c call) written { return c.countKeys(c.remove) },
	"exists": func(c call) written { return c.countKeys(c.db.Exists) }, "touch": func(c call) written { return c.countKeys(c.db.Exists) },

	"expire":    func(c call) written { return c.setLife("EX") },
	"pexpire":   func(c call) written { return c.setLife("PX") },
	"expireat":  func(c call) written { return c.setLife("EXAT") },
	"pexpireat": func(c call) written { return c.setLife("PXAT") },
	"persist":   func(c call) written { return c.bool(c.keyspace.persist(c.args[1])) },

	"ttl":         func(c call) written { return c.life(func(ms int64) int64 { return (ms - c.nowMs + 500) / 1000 }) },
	"pttl":        func(c call) written { return c.life(func(ms int64) int64 { return ms - c.nowMs }) },
	"expiretime":  func(c call) written { return c.life(func(ms int64) int64 { return (ms + 500) / 1000 }) },
	"pexpiretime": func(c call) written { return c.life(func(ms int64) int64 { return ms }) },

	"rename": func(c call) written {
		if !c.db.Exists(c.args[1]) {
			return c.fail(noSuchKey)
		}
		c.move(c.args[1], c.args[2])
		return c.ok()
	},
	"renamenx": func(c call) written {
		switch {
		case !c.db.Exists(c.args[1]):
			return c.fail(noSuchKey)
		case c.db.Exists(c.args[2]):
			return c.int(0)
		}
		c.move(c.args[1], c.args[2])
		return c.int(1)
	},
	"copy":   call.copyKey,
	"select": func(c call) written { return c.okUnless(onlyDatabase(c.args[1])) },
	"randomkey": func(c call) written {
		keys := c.db.Keys()
		if len(keys) == 0 {
			return c.null()
		}
		return c.bulk(keys[c.lua.draw()%int64(len(keys))])
	},
	"keys": func(c call) written {
		return c.bulks(slices.DeleteFunc(c.db.Keys(), func(key string) bool {
			return c.args[1] != "*" && !matches(c.args[1], key)
		})...)
	},
	"dbsize":  func(c call) written { return c.int(int64(len(c.db.Keys()))) },
	"flushdb": call.flushAll, "flushall": call.flushAll,
	"time": func(c call) written {
		return c.bulks(strconv.FormatInt(c.now.Unix(), 10), strconv.FormatInt(int64(c.now.Nanosecond())/1000, 10))
	},
}

// countKeys replies with the number of keys for which do returns true.
func (c call) countKeys(do func(key string) bool) written {
	n := int64(0)
	for _, key := range c.args[1:] {
		if do(key) {
			n++
		}
	}
	return c.int(n)
}

// okUnless replies with OK or, if there is a refusal, with the refusal.
func (c call) okUnless(refusal string) written {
	if refusal != "" {
		return c.fail(refusal)
	}
	return c.ok()
}

// expireOptions are the options of EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT.
type expireOptions struct{ nx, xx, gt, lt bool }

func (o *expireOptions) parse(args []string) (refusal string) {
	for _, arg := range args {
		switch strings.ToUpper(arg) {
		case "NX":
			o.nx = true
		case "XX":
			o.xx = true
		case "GT":
			o.gt = true
		case "LT":
			o.lt = true
		default:
			return "ERR Unsupported option " + cut(arg, len(arg))
		}
	}
	switch {
	case o.nx && (o.xx || o.gt || o.lt):
		return "ERR NX and XX, GT or LT options at the same time are not compatible"
	case o.gt && o.lt:
		return "ERR GT and LT options at the same time are not compatible"
	}
	return ""
}

// allow reports whether ms may become the key's deadline. If mortal is true, old is the key's
// present deadline; otherwise the key has none.
func (o *expireOptions) allow(ms, old int64, mortal bool) bool {
	switch {
	case o.nx && mortal, o.xx && !mortal:
		return false
	case o.gt && (!mortal || ms <= old):
		return false
	case o.lt && mortal && ms >= old:
		return false
	}
	return true
}

func (c call) setLife(unit string) written {
	key := c.args[1]
	var o expireOptions
	if refusal := o.parse(c.args[3:]); refusal != "" {
		return c.fail(refusal)
	}
	v, ok := parseInt(c.args[2])
	if !ok {
		return c.fail(notInteger)
	}
	ms, ok := c.absolute(unit, v)
	if !ok {
		return c.fail(invalidExpire(c.command.name))
	}
	old, mortal := c.deadlines[key]
	switch {
	case !c.db.Exists(key), !o.allow(ms, old, mortal), c.refuses(remedy.OwnRenewal, key):
		return c.int(0)
	case ms <= c.nowMs:
		c.remove(key)
	default:
		c.live(key, ms)
	}
	return c.int(1)
}

// life replies with of(deadline) for a key with a deadline, -1 for a key without one, and
// -2 for a missing key.
func (c call) life(of func(ms int64) int64) written {
	ms, mortal := c.deadlines[c.args[1]]
	switch {
	case mortal:
		return c.int(of(ms))
	case c.db.Exists(c.args[1]):
		return c.int(-1)
	}
	return c.int(-2)
}

// move renames an existing key, which keeps its expiry.
func (k *keyspace) move(from, to string) {
	if from != to {
		k.copy(from, to)
		k.remove(from)
		k.touch(to)
	}
}

func (c call) copyKey() written {
	replace := false
	for i := 3; i < len(c.args); i++ {
		switch strings.ToUpper(c.args[i]) {
		case "REPLACE":
			replace = true
		case "DB":
			if i++; i == len(c.args) {
				return c.fail(syntax)
			}
			if refusal := onlyDatabase(c.args[i]); refusal != "" {
				return c.fail(refusal)
			}
		default:
			return c.fail(syntax)
		}
	}
	from, to := c.args[1], c.args[2]
	switch {
	case from == to:
		return c.fail("ERR source and destination objects are the same")
	case !c.db.Exists(from) || c.db.Exists(to) && !replace:
		return c.int(0)
	}
	c.keyspace.copy(from, to)
	c.touch(to)
	return c.int(1)
}

// onlyDatabase returns the error reply for a database that cannot be selected; "" for database
// 0, the only one.
func onlyDatabase(index string) string {
	v, ok := parseInt(index)
	switch {
	case !ok:
		return notInteger
	case v != 0:
		return "ERR DB index is out of range"
	}
	return ""
}

func (c call) flushAll() written {
	if !syncOrAsync(c.args[1:]) {
		return c.fail(syntax)
	}
	c.keyspace.flush()
	return c.ok()
}

// syncOrAsync reports whether these are valid options of FLUSHALL and the like.
func syncOrAsync(options []string) bool {
	return len(options) == 0 || len(options) == 1 && (strings.EqualFold(options[0], "ASYNC") || strings.EqualFold(options[0], "SYNC"))
}
