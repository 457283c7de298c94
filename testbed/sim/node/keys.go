package node

import (
	"strconv"
	"strings"
)

func (n *Node) cmdDel(_ *Session, args []string) {
	deleted := int64(0)
	for _, key := range args[1:] {
		if n.remove(key) {
			deleted++
		}
	}
	n.int(deleted)
}

func (n *Node) cmdUnlink(s *Session, args []string) { n.cmdDel(s, args) }

func (n *Node) cmdExists(_ *Session, args []string) {
	found := int64(0)
	for _, key := range args[1:] {
		if n.db.Exists(key) {
			found++
		}
	}
	n.int(found)
}

func (n *Node) cmdTouch(s *Session, args []string) { n.cmdExists(s, args) }

func (n *Node) cmdExpire(_ *Session, args []string)    { n.setLife("expire", "EX", args) }
func (n *Node) cmdPexpire(_ *Session, args []string)   { n.setLife("pexpire", "PX", args) }
func (n *Node) cmdExpireat(_ *Session, args []string)  { n.setLife("expireat", "EXAT", args) }
func (n *Node) cmdPexpireat(_ *Session, args []string) { n.setLife("pexpireat", "PXAT", args) }

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

func (n *Node) setLife(name, unit string, args []string) {
	key := args[1]
	var o expireOptions
	if refusal := o.parse(args[3:]); refusal != "" {
		n.fail(refusal)
		return
	}
	v, ok := parseInt(args[2])
	if !ok {
		n.fail(notInteger)
		return
	}
	ms, ok := n.absolute(unit, v)
	if !ok {
		n.fail(invalidExpire(name))
		return
	}
	old, mortal := n.keys.deadlines[key]
	switch {
	case !n.db.Exists(key), !o.allow(ms, old, mortal):
		n.int(0)
		return
	case ms <= n.nowMs:
		n.remove(key)
	default:
		n.live(key, ms)
	}
	n.int(1)
}

// life replies with of(deadline) for a key with a deadline, -1 for a key without one, and
// -2 for a missing key.
func (n *Node) life(key string, of func(ms int64) int64) {
	ms, mortal := n.keys.deadlines[key]
	switch {
	case mortal:
		n.int(of(ms))
	case n.db.Exists(key):
		n.int(-1)
	default:
		n.int(-2)
	}
}

func (n *Node) cmdTtl(_ *Session, args []string) {
	n.life(args[1], func(ms int64) int64 { return (ms - n.nowMs + 500) / 1000 })
}

func (n *Node) cmdPttl(_ *Session, args []string) {
	n.life(args[1], func(ms int64) int64 { return ms - n.nowMs })
}

func (n *Node) cmdExpiretime(_ *Session, args []string) {
	n.life(args[1], func(ms int64) int64 { return (ms + 500) / 1000 })
}

func (n *Node) cmdPexpiretime(_ *Session, args []string) {
	n.life(args[1], func(ms int64) int64 { return ms })
}

func (n *Node) cmdPersist(_ *Session, args []string) {
	if _, mortal := n.keys.deadlines[args[1]]; !mortal {
		n.int(0)
		return
	}
	delete(n.keys.deadlines, args[1])
	n.touch(args[1])
	n.int(1)
}

func (n *Node) cmdRename(_ *Session, args []string) {
	if n.moveKey(args) {
		n.ok()
	}
}

func (n *Node) cmdRenamenx(_ *Session, args []string) {
	if n.db.Exists(args[1]) && n.db.Exists(args[2]) {
		n.int(0)
		return
	}
	if n.moveKey(args) {
		n.int(1)
	}
}

// moveKey renames a key and keeps its expiry. For a missing key it replies with an error
// and returns false.
func (n *Node) moveKey(args []string) bool {
	from, to := args[1], args[2]
	if !n.db.Exists(from) {
		n.fail(noSuchKey)
		return false
	}
	if from != to {
		n.copyKey(from, to)
		n.remove(from)
		n.touch(to)
	}
	return true
}

// copyKey copies an existing key. The caller accounts for the change.
func (n *Node) copyKey(from, to string) {
	n.db.Del(to)
	delete(n.keys.deadlines, to)
	_ = n.store.Copy(0, from, 0, to) // fails only if from does not exist
	if ms, mortal := n.keys.deadlines[from]; mortal {
		n.keys.setDeadline(to, ms)
	}
}

func (n *Node) cmdCopy(_ *Session, args []string) {
	replace := false
	for i := 3; i < len(args); i++ {
		switch strings.ToUpper(args[i]) {
		case "REPLACE":
			replace = true
		case "DB":
			if i++; i == len(args) {
				n.fail(syntax)
				return
			}
			if refusal := onlyDatabase(args[i]); refusal != "" {
				n.fail(refusal)
				return
			}
		default:
			n.fail(syntax)
			return
		}
	}
	from, to := args[1], args[2]
	switch {
	case from == to:
		n.fail("ERR source and destination objects are the same")
	case !n.db.Exists(from) || n.db.Exists(to) && !replace:
		n.int(0)
	default:
		n.copyKey(from, to)
		n.touch(to)
		n.int(1)
	}
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

func (n *Node) cmdSelect(_ *Session, args []string) {
	if refusal := onlyDatabase(args[1]); refusal != "" {
		n.fail(refusal)
		return
	}
	n.ok()
}

func (n *Node) cmdRandomkey(_ *Session, _ []string) {
	keys := n.db.Keys()
	if len(keys) == 0 {
		n.null()
		return
	}
	n.bulk(keys[n.lua.draw()%int64(len(keys))])
}

func (n *Node) cmdKeys(_ *Session, args []string) {
	var found []string
	for _, key := range n.db.Keys() {
		if args[1] == "*" || matches(args[1], key) {
			found = append(found, key)
		}
	}
	n.array(len(found))
	for _, key := range found {
		n.bulk(key)
	}
}

func (n *Node) cmdDbsize(_ *Session, _ []string) { n.int(int64(len(n.db.Keys()))) }

func (n *Node) cmdFlushdb(s *Session, args []string) { n.cmdFlushall(s, args) }

func (n *Node) cmdFlushall(_ *Session, args []string) {
	if len(args) > 2 || len(args) == 2 && !strings.EqualFold(args[1], "ASYNC") && !strings.EqualFold(args[1], "SYNC") {
		n.fail(syntax)
		return
	}
	n.invalidateAll()
	for _, key := range n.db.Keys() {
		n.db.Del(key)
		n.account(key)
	}
	n.writes++
	n.ok()
}

func (n *Node) cmdTime(_ *Session, _ []string) {
	n.array(2)
	n.bulk(strconv.FormatInt(n.now.Unix(), 10))
	n.bulk(strconv.FormatInt(int64(n.now.Nanosecond())/1000, 10))
}

// cmdWait answers WAIT for a node without replicas. For a node with replicas, the simulation
// answers WAIT.
func (n *Node) cmdWait(_ *Session, args []string) {
	_, ok := parseInt(args[1])
	timeout, isInt := parseInt(args[2])
	switch {
	case n.readOnly:
		n.fail("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")
	case !ok:
		n.fail(notInteger)
	case !isInt:
		n.fail("ERR timeout is not an integer or out of range")
	case timeout < 0:
		n.fail("ERR timeout is negative")
	default:
		n.int(0)
	}
}

func (n *Node) cmdHincrby(_ *Session, args []string) {
	key, field := args[1], args[2]
	by, ok := parseInt(args[3])
	if !ok {
		n.fail(notInteger)
		return
	}
	if kind := n.db.Type(key); kind != "hash" && kind != "" {
		n.fail(wrongType)
		return
	}
	var old int64
	if value := n.db.HGet(key, field); value != "" || n.hasField(key, field) {
		if old, ok = parseInt(value); !ok {
			n.fail("ERR hash value is not an integer")
			return
		}
	}
	if overflows(old, by) {
		n.fail(wouldOverflow)
		return
	}
	n.db.HSet(key, field, strconv.FormatInt(old+by, 10))
	n.touch(key)
	n.int(old + by)
}

// hasField reports whether a hash has a field, even if the field's value is empty.
func (n *Node) hasField(key, field string) bool {
	fields, _ := n.db.HKeys(key) // an error means that there are none
	for _, f := range fields {
		if f == field {
			return true
		}
	}
	return false
}
