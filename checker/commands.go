package checker

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// reader reads one kind of command. reply is "" if none was seen; then the acts
// are those of a success.
type reader func(args []string, reply string) outcome

// commandReaders hold Redis's semantics of the commands that locks are made of.
var commandReaders = map[string]reader{
	"SET": readSet, "SETNX": readSetNX, "GETSET": readGetSet, "SETEX": readSetEX(time.Second), "PSETEX": readSetEX(time.Millisecond),
	"DEL": readDel, "UNLINK": readDel, "GETDEL": readGetDel,
	"EXPIRE": readExpire(time.Second), "PEXPIRE": readExpire(time.Millisecond),
	"EXPIREAT": readExpire(0), "PEXPIREAT": readExpire(0), "PERSIST": readPersist,
	"HSET": readHSet, "HMSET": readHSet, "HSETNX": readHSetNX, "HINCRBY": readHIncrBy, "HDEL": readHDel,
	"GET": readGet, "HGET": readGet, "EXISTS": readExists, "TTL": readTTL, "PTTL": readTTL, "HEXISTS": readHExists,
}

// quietCommands change no key.
var quietCommands = []string{
	"ASKING", "AUTH", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DBSIZE", "ECHO", "HELLO", "HGETALL", "HKEYS", "HLEN", "HMGET",
	"HVALS", "INFO", "KEYS", "MEMORY", "MGET", "OBJECT", "PING", "PSUBSCRIBE", "PUBLISH", "PUNSUBSCRIBE", "QUIT",
	"READONLY", "READWRITE", "ROLE", "SCAN", "SCRIPT", "SELECT", "STRLEN", "SUBSCRIBE", "TIME", "TYPE", "UNSUBSCRIBE", "WAIT", "WAITAOF",
}

// text is the content of a bulk string's reply.
func text(reply string) (string, bool) {
	if len(reply) < 2 || reply[0] != '"' || reply[len(reply)-1] != '"' {
		return "", false
	}
	return reply[1 : len(reply)-1], true
}

// saw reads whether the key was there from a reply that shows its old value.
func saw(key, reply string) []sight {
	if reply == "nil" {
		return []sight{{key: key}}
	}
	if v, ok := text(reply); ok {
		return []sight{{key: key, present: true, value: &v}}
	}
	return nil
}

func readSet(args []string, reply string) outcome {
	if len(args) < 3 {
		return outcome{}
	}
	set := act{kind: history.EffectSet, key: args[1], value: args[2], stamps: []string{args[2]}}
	var nx, xx, get, timed bool
	for i := 3; i < len(args); i++ {
		switch option := strings.ToUpper(args[i]); option {
		case "NX":
			nx, set.ifAbsent = true, true
		case "XX":
			xx = true
		case "GET":
			get = true
		case "KEEPTTL":
			set.keep = true
		case "EX", "PX":
			i++
			unit := map[string]time.Duration{"EX": time.Second, "PX": time.Millisecond}[option]
			set.ttl, set.sometime = readLife(args, i, unit)
			timed = true
		case "EXAT", "PXAT":
			i++
			set.sometime = true
		}
	}
	set.ifPresent, set.plain = xx, !get && !set.sometime && timed == (set.ttl > 0)
	o := outcome{keys: args[1:2]}
	happened := reply == "" || reply == "OK"
	switch {
	case get:
		o.sights = saw(args[1], reply)
		was := len(o.sights) > 0 && o.sights[0].present
		happened = reply == "" || (!nx || !was) && (!xx || was)
	case nx || xx:
		// NX succeeds on an absent key, XX on a present one.
		o.sights = []sight{{key: args[1], present: happened == xx}}
	}
	if happened {
		o.acts = []act{set}
	}
	return o
}

// readLife reads a number of units at args[i]; unknown if there is none.
func readLife(args []string, i int, unit time.Duration) (d time.Duration, unknown bool) {
	if i >= len(args) || unit <= 0 {
		return 0, true
	}
	n, err := strconv.ParseInt(args[i], 10, 64)
	if err != nil || n > int64(math.MaxInt64/4)/int64(unit) || n < -int64(math.MaxInt64/4)/int64(unit) {
		return 0, true
	}
	return time.Duration(n) * unit, false
}

func readSetNX(args []string, reply string) outcome {
	if len(args) < 3 {
		return outcome{}
	}
	o := outcome{keys: args[1:2], sights: []sight{{key: args[1], present: reply == "0"}}}
	if reply != "0" {
		o.acts = []act{{kind: history.EffectSet, key: args[1], value: args[2], stamps: []string{args[2]}, ifAbsent: true}}
	}
	return o
}

func readGetSet(args []string, reply string) outcome {
	if len(args) < 3 {
		return outcome{}
	}
	return outcome{
		keys:   args[1:2],
		sights: saw(args[1], reply),
		acts:   []act{{kind: history.EffectSet, key: args[1], value: args[2], stamps: []string{args[2]}, plain: true}},
	}
}

func readSetEX(unit time.Duration) reader {
	return func(args []string, _ string) outcome {
		if len(args) < 4 {
			return outcome{}
		}
		set := act{kind: history.EffectSet, key: args[1], value: args[3], stamps: []string{args[3]}}
		set.ttl, set.sometime = readLife(args, 2, unit)
		set.plain = set.ttl > 0
		return outcome{keys: args[1:2], acts: []act{set}}
	}
}

func readDel(args []string, reply string) outcome {
	o := outcome{keys: args[1:]}
	n, err := strconv.Atoi(reply)
	all := err == nil && n == len(o.keys)
	for _, key := range o.keys {
		if n == 0 && err == nil || all {
			o.sights = append(o.sights, sight{key: key, present: all})
		}
		if n != 0 || err != nil {
			o.acts = append(o.acts, act{kind: history.EffectDelete, key: key})
		}
	}
	o.possible = err == nil && n != 0 && !all // which of them, nobody says
	return o
}

func readGetDel(args []string, reply string) outcome {
	o := outcome{keys: args[1:2], sights: saw(args[1], reply)}
	if reply != "nil" {
		o.acts = []act{{kind: history.EffectDelete, key: args[1]}}
	}
	return o
}

// readExpire reads EXPIRE and its kin; unit 0 stands for the forms that name an
// instant of the node's wall clock.
func readExpire(unit time.Duration) reader {
	return func(args []string, reply string) outcome {
		o := outcome{keys: args[1:2]}
		if reply == "0" {
			if len(args) == 3 { // without NX, XX, GT, LT only a missing key gives 0
				o.sights = []sight{{key: args[1]}}
			}
			return o
		}
		prolong := act{kind: history.EffectExpire, key: args[1]}
		prolong.ttl, prolong.sometime = readLife(args, 2, unit)
		if prolong.ttl <= 0 && !prolong.sometime {
			prolong.kind, prolong.conditional = history.EffectDelete, len(args) > 3
		}
		prolong.plain = len(args) == 3 && prolong.ttl > 0
		o.acts = []act{prolong}
		o.sights = []sight{{key: args[1], present: true}}
		return o
	}
}

func readPersist(args []string, reply string) outcome {
	o := outcome{keys: args[1:2]}
	if reply != "0" {
		o.acts = []act{{kind: history.EffectPersist, key: args[1]}}
		o.sights = []sight{{key: args[1], present: true}}
	}
	return o
}

func readHSet(args []string, _ string) outcome {
	o := outcome{keys: args[1:2]}
	for i := 2; i+1 < len(args); i += 2 {
		o.acts = append(o.acts, setField(args[1], args[i], args[i+1]))
	}
	return o
}

func setField(key, field, value string) act {
	return act{kind: history.EffectSet, key: key, field: field, value: value, stamps: []string{field, value}, keep: true}
}

func readHSetNX(args []string, reply string) outcome {
	o := outcome{keys: args[1:2]}
	if len(args) > 3 && reply != "0" {
		o.acts = []act{setField(args[1], args[2], args[3])}
	}
	return o
}

// readHIncrBy takes counting up for a claim; counting down leaves the claim as
// it is until the field is deleted.
func readHIncrBy(args []string, _ string) outcome {
	o := outcome{keys: args[1:2]}
	if len(args) > 3 && !strings.HasPrefix(args[3], "-") {
		o.acts = []act{setField(args[1], args[2], "")}
	}
	return o
}

func readHDel(args []string, reply string) outcome {
	o := outcome{keys: args[1:2]}
	if reply == "0" {
		return o
	}
	for _, field := range args[2:] {
		o.acts = append(o.acts, act{kind: history.EffectDelete, key: args[1], field: field, stamps: []string{field}})
	}
	o.sights = []sight{{key: args[1], present: true}}
	o.possible = reply != strconv.Itoa(len(args)-2)
	return o
}

func readGet(args []string, reply string) outcome {
	o := outcome{keys: args[1:2]}
	if len(args) == 2 {
		o.sights = saw(args[1], reply)
	} else if _, ok := text(reply); ok { // HGET: a field is missing more easily than its key
		o.sights = []sight{{key: args[1], present: true}}
	}
	return o
}

func readExists(args []string, reply string) outcome {
	o := outcome{keys: args[1:]}
	n, err := strconv.Atoi(reply)
	if err == nil && (n == 0 || n == len(o.keys)) {
		for _, key := range o.keys {
			o.sights = append(o.sights, sight{key: key, present: n > 0})
		}
	}
	return o
}

func readTTL(args []string, reply string) outcome {
	o := outcome{keys: args[1:2]}
	if _, err := strconv.Atoi(reply); err == nil {
		o.sights = []sight{{key: args[1], present: reply != "-2"}}
	}
	return o
}

func readHExists(args []string, reply string) outcome {
	o := outcome{keys: args[1:2]}
	if reply == "1" {
		o.sights = []sight{{key: args[1], present: true}}
	}
	return o
}
