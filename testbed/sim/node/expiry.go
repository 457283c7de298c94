package node

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// keyspace holds the state of keys that miniredis does not hold, such as their expiry times.
// Miniredis holds the values.
type keyspace struct {
	deadlines map[string]int64      // when keys expire: Unix milliseconds of the node's clock
	earliest  int64                 // lower bound of all deadlines
	hidden    map[string]*storedKey // expired keys of a replica; only its primary may delete them
	entries   map[string]*storedKey // cache of the keys that have not changed since they were read
}

func (k *keyspace) clear() {
	*k = keyspace{
		deadlines: map[string]int64{},
		earliest:  math.MaxInt64,
		hidden:    map[string]*storedKey{},
		entries:   map[string]*storedKey{},
	}
}

func (k *keyspace) setDeadline(key string, ms int64) {
	k.deadlines[key] = ms
	k.earliest = min(k.earliest, ms)
}

// expire removes the keys whose deadline has passed; a replica only hides them. As in Redis, a key
// still exists in the millisecond of its deadline.
func (n *Node) expire() {
	if len(n.keys.hidden) > 0 {
		n.unhide()
		n.report(history.ByClock)
	}
	if n.nowMs <= n.keys.earliest {
		return
	}
	var gone []string
	earliest := int64(math.MaxInt64)
	for key, ms := range n.keys.deadlines {
		if ms < n.nowMs {
			gone = append(gone, key)
		} else {
			earliest = min(earliest, ms)
		}
	}
	slices.Sort(gone)
	for _, key := range gone {
		if n.readOnly {
			n.hide(key)
		} else {
			n.remove(key)
		}
	}
	n.keys.earliest = earliest
	n.report(history.ByExpiry)
}

// Expire deletes the keys that have expired by now, as Redis does even without a command. It
// returns the invalidations for sessions that track these keys. A replica only hides the keys.
func (n *Node) Expire(now time.Time) []Push {
	n.tick(now)
	if len(n.tracking.bcast) > 0 {
		n.broadcast()
	}
	return n.takePushes()
}

// NextExpiry returns an instant of the node's wall clock before which no key expires. The zero time
// means that no key has an expiry.
func (n *Node) NextExpiry() time.Time {
	if n.keys.earliest == math.MaxInt64 {
		return time.Time{}
	}
	return time.UnixMilli(n.keys.earliest)
}

// hide hides an expired key of a replica from commands.
func (n *Node) hide(key string) {
	n.keys.hidden[key] = n.storedKey(key)
	n.db.Del(key)
	delete(n.keys.deadlines, key)
	delete(n.keys.entries, key)
	n.touchWatched(key)
}

// unhide restores hidden keys that are no longer expired because the clock went back. If the
// node is no longer a replica, unhide deletes the other hidden keys.
func (n *Node) unhide() {
	for _, key := range slices.Sorted(maps.Keys(n.keys.hidden)) {
		e := n.keys.hidden[key]
		switch {
		case n.nowMs <= e.deadline:
			n.restore(e)
			n.record.touch(key)
		case n.readOnly:
			continue
		default:
			n.writes++
			n.invalidate(key)
		}
		delete(n.keys.hidden, key)
	}
}

// remove deletes a key and reports whether the key existed.
func (n *Node) remove(key string) bool {
	if !n.db.Del(key) {
		return false
	}
	n.touch(key)
	return true
}

// touch accounts for a change or removal of a key, and informs sessions that cached the key.
func (n *Node) touch(key string) {
	n.account(key)
	n.invalidate(key)
}

func (n *Node) account(key string) {
	n.writes++
	n.record.touch(key)
	delete(n.keys.entries, key)
	if !n.db.Exists(key) {
		delete(n.keys.deadlines, key)
	}
	n.touchWatched(key)
}

// live sets a key's deadline, in Unix milliseconds of the node's clock. A past deadline
// removes the key.
func (n *Node) live(key string, ms int64) {
	n.keys.setDeadline(key, ms)
	if ms < n.nowMs {
		n.remove(key)
		return
	}
	n.touch(key)
}
