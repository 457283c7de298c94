package node

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
)

// text returns the value of a string key. If the key has another type, text replies with an
// error and ok is false.
func (n *Node) text(key string) (value string, exists, ok bool) {
	value, err := n.db.Get(key)
	if errors.Is(err, miniredis.ErrWrongType) {
		n.fail(wrongType)
		return "", true, false
	}
	return value, err == nil, true
}

// overwrite sets the key to a string without expiry, whatever its old type.
func (n *Node) overwrite(key, value string) {
	if err := n.db.Set(key, value); err != nil {
		n.db.Del(key)
		_ = n.db.Set(key, value) // cannot fail now: the key holds no other type
	}
	delete(n.keys.deadlines, key)
	n.touch(key)
}

func (n *Node) cmdGet(_ *Session, args []string) {
	value, exists, ok := n.text(args[1])
	switch {
	case !ok:
	case exists:
		n.bulk(value)
	default:
		n.null()
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

// deadline converts a lifetime in a unit to Unix milliseconds of the node's clock, or replies
// with an error.
func (n *Node) deadline(command, unit, lifetime string) (ms int64, ok bool) {
	v, ok := parseInt(lifetime)
	if !ok {
		n.fail(notInteger)
		return 0, false
	}
	if ms, ok = n.absolute(unit, v); v <= 0 || !ok {
		n.fail(invalidExpire(command))
		return 0, false
	}
	return ms, true
}

// absolute converts a lifetime to Unix milliseconds of the node's clock. ok is false if the
// lifetime is out of range.
func (n *Node) absolute(unit string, v int64) (ms int64, ok bool) {
	if unit == "EX" || unit == "EXAT" {
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return 0, false
		}
		v *= 1000
	}
	if unit == "EX" || unit == "PX" {
		if v > math.MaxInt64-n.nowMs {
			return 0, false
		}
		v += n.nowMs
	}
	return v, true
}

func (n *Node) cmdSet(_ *Session, args []string) {
	key, value := args[1], args[2]
	var o setOptions
	if len(args) > 3 && !o.parse(args[3:], false) {
		n.fail(syntax)
		return
	}
	if o.newer != "" {
		n.fail(n.unsupportedOption("set", o.newer))
		return
	}
	var ms int64
	if o.unit != "" {
		var ok bool
		if ms, ok = n.deadline("set", o.unit, o.lifetime); !ok {
			return
		}
	}
	mark := len(n.out)
	if o.get {
		n.cmdGet(nil, args[:2])
		if n.out[mark] == '-' {
			return
		}
	}
	if (o.nx || o.xx) && n.db.Exists(key) != o.xx {
		if !o.get {
			n.null()
		}
		return
	}
	old, lives := n.keys.deadlines[key]
	n.overwrite(key, value)
	switch {
	case o.unit != "":
		n.live(key, ms)
	case o.keepTTL && lives:
		n.keys.setDeadline(key, old)
	}
	if !o.get {
		n.ok()
	}
}

func (n *Node) cmdSetnx(_ *Session, args []string) {
	if n.db.Exists(args[1]) {
		n.int(0)
		return
	}
	n.overwrite(args[1], args[2])
	n.int(1)
}

func (n *Node) cmdSetex(_ *Session, args []string)  { n.setFor("setex", "EX", args) }
func (n *Node) cmdPsetex(_ *Session, args []string) { n.setFor("psetex", "PX", args) }

func (n *Node) setFor(name, unit string, args []string) {
	ms, ok := n.deadline(name, unit, args[2])
	if !ok {
		return
	}
	n.overwrite(args[1], args[3])
	n.live(args[1], ms)
	n.ok()
}

func (n *Node) cmdGetex(_ *Session, args []string) {
	key := args[1]
	var o setOptions
	if !o.parse(args[2:], true) {
		n.fail(syntax)
		return
	}
	value, exists, ok := n.text(key)
	if !ok {
		return
	}
	if !exists {
		n.null()
		return
	}
	var ms int64
	if o.unit != "" {
		if ms, ok = n.deadline("getex", o.unit, o.lifetime); !ok {
			return
		}
	}
	n.bulk(value)
	switch _, lives := n.keys.deadlines[key]; {
	case o.unit != "" && ms <= n.nowMs:
		n.remove(key)
	case o.unit != "":
		n.live(key, ms)
	case o.persist && lives:
		delete(n.keys.deadlines, key)
		n.touch(key)
	}
}

func (n *Node) cmdGetset(_ *Session, args []string) {
	mark := len(n.out)
	n.cmdGet(nil, args[:2])
	if n.out[mark] != '-' {
		n.overwrite(args[1], args[2])
	}
}

func (n *Node) cmdGetdel(_ *Session, args []string) {
	mark := len(n.out)
	n.cmdGet(nil, args)
	if n.out[mark] != '-' {
		n.remove(args[1])
	}
}

func (n *Node) cmdMget(_ *Session, args []string) {
	n.array(len(args) - 1)
	for _, key := range args[1:] {
		if value, err := n.db.Get(key); err == nil {
			n.bulk(value)
		} else {
			n.null()
		}
	}
}

func (n *Node) cmdMset(_ *Session, args []string) {
	if len(args)%2 == 0 {
		n.fail(wrongNumber("mset"))
		return
	}
	for i := 1; i < len(args); i += 2 {
		n.overwrite(args[i], args[i+1])
	}
	n.ok()
}

func (n *Node) cmdMsetnx(_ *Session, args []string) {
	if len(args)%2 == 0 {
		n.fail(wrongNumber("msetnx"))
		return
	}
	for i := 1; i < len(args); i += 2 {
		if n.db.Exists(args[i]) {
			n.int(0)
			return
		}
	}
	for i := 1; i < len(args); i += 2 {
		n.overwrite(args[i], args[i+1])
	}
	n.int(1)
}

func (n *Node) cmdIncr(_ *Session, args []string) { n.add(args[1], 1) }
func (n *Node) cmdDecr(_ *Session, args []string) { n.add(args[1], -1) }

func (n *Node) cmdIncrby(_ *Session, args []string) {
	if by, ok := parseInt(args[2]); ok {
		n.add(args[1], by)
		return
	}
	n.fail(notInteger)
}

func (n *Node) cmdDecrby(_ *Session, args []string) {
	by, ok := parseInt(args[2])
	switch {
	case !ok:
		n.fail(notInteger)
	case by == math.MinInt64:
		n.fail("ERR decrement would overflow")
	default:
		n.add(args[1], -by)
	}
}

const wouldOverflow = "ERR increment or decrement would overflow"

// add increments an integer string by the given number and replies with the result.
func (n *Node) add(key string, by int64) {
	value, exists, ok := n.text(key)
	if !ok {
		return
	}
	var old int64
	if exists {
		if old, ok = parseInt(value); !ok {
			n.fail(notInteger)
			return
		}
	}
	if overflows(old, by) {
		n.fail(wouldOverflow)
		return
	}
	_ = n.db.Set(key, strconv.FormatInt(old+by, 10)) // cannot fail: the key is a string or absent
	n.touch(key)
	n.int(old + by)
}

func overflows(a, b int64) bool {
	return b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b
}
