package node

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// keyspace holds a node's keys: their values in miniredis, and what miniredis does not hold, such as
// their expiry times. It tells of each change to the sessions that watch or track the key, and
// to the record.
type keyspace struct {
	db       *miniredis.RedisDB // the node's only database
	store    *miniredis.Miniredis
	tracking tracking
	watched  map[string][]*Session
	record   record
	own      ownership

	now      time.Time
	nowMs    int64 // for expiry, in whole milliseconds as in Redis
	readOnly bool
	writes   uint64

	deadlines map[string]int64      // when keys expire: Unix milliseconds of the node's clock
	earliest  int64                 // lower bound of all deadlines
	hidden    map[string]*storedKey // expired keys of a replica; only its primary may delete them
	entries   map[string]*storedKey // cache of the keys that have not changed since they were read
}

// reset makes the keyspace empty and writable.
func (k *keyspace) reset() {
	k.db.FlushDB()
	k.now, k.nowMs, k.readOnly, k.writes, k.record, k.own = time.Time{}, 0, false, 0, record{}, ownership{}
	k.deadlines, k.earliest = map[string]int64{}, math.MaxInt64
	k.hidden, k.entries = map[string]*storedKey{}, map[string]*storedKey{}
}

// forget drops what sessions watch and track.
func (k *keyspace) forget() {
	k.tracking.readers, k.tracking.bcast = nil, nil
	k.watched = map[string][]*Session{}
}

func (k *keyspace) setDeadline(key string, ms int64) {
	k.deadlines[key] = ms
	k.earliest = min(k.earliest, ms)
}

// tick moves the node's clock, which may go back, and expires keys.
func (k *keyspace) tick(now time.Time) {
	k.now, k.nowMs = now, now.UnixMilli()
	k.expire()
}

// expire removes the keys whose deadline has passed; a replica only hides them. As in Redis, a key
// still exists in the millisecond of its deadline.
func (k *keyspace) expire() {
	if len(k.hidden) > 0 {
		k.unhide()
		k.report(history.ByClock)
	}
	gone := k.orphans()
	if k.nowMs <= k.earliest && len(gone) == 0 {
		return
	}
	earliest := int64(math.MaxInt64)
	for key, ms := range k.deadlines {
		switch {
		case ms < k.nowMs && k.keeps(key):
			earliest = min(earliest, k.nowMs+1)
		case ms < k.nowMs:
			gone = append(gone, key)
		default:
			earliest = min(earliest, ms)
		}
	}
	slices.Sort(gone)
	for _, key := range gone {
		if k.readOnly {
			k.hide(key)
		} else {
			k.drop(key)
		}
	}
	k.earliest = earliest
	k.report(history.ByExpiry)
}

// hide hides an expired key of a replica from commands.
func (k *keyspace) hide(key string) {
	k.hidden[key] = k.storedKey(key)
	k.db.Del(key)
	delete(k.deadlines, key)
	delete(k.entries, key)
	k.touchWatched(key)
}

// unhide restores hidden keys that are no longer expired because the clock went back. If the
// node is no longer a replica, unhide deletes the other hidden keys.
func (k *keyspace) unhide() {
	for _, key := range slices.Sorted(maps.Keys(k.hidden)) {
		e := k.hidden[key]
		switch {
		case k.nowMs <= e.deadline:
			k.restore(e)
			k.record.touch(key)
		case k.readOnly:
			continue
		default:
			k.writes++
			k.tracking.invalidate(key)
		}
		delete(k.hidden, key)
	}
}

// remove deletes a key as a command asks, unless a remedy refuses, and reports whether it did.
func (k *keyspace) remove(key string) bool {
	return !k.refuses(remedy.OwnRelease, key) && k.drop(key)
}

// drop deletes a key and reports whether the key existed.
func (k *keyspace) drop(key string) bool {
	if !k.db.Del(key) {
		return false
	}
	k.touch(key)
	return true
}

// touch accounts for a change or removal of a key, and informs sessions that cached the key.
func (k *keyspace) touch(key string) {
	k.account(key)
	k.tracking.invalidate(key)
}

func (k *keyspace) account(key string) {
	k.writes++
	k.record.touch(key)
	delete(k.entries, key)
	exists := k.db.Exists(key)
	if !exists {
		delete(k.deadlines, key)
	}
	k.changed(key, exists, false)
	k.touchWatched(key)
}

// touchWatched makes the transactions that watch the key fail.
func (k *keyspace) touchWatched(key string) {
	if len(k.watched) == 0 {
		return
	}
	for _, s := range k.watched[key] {
		s.dirty = true
	}
}

// live sets a key's deadline, in Unix milliseconds of the node's clock. A past deadline
// removes the key.
func (k *keyspace) live(key string, ms int64) {
	k.setDeadline(key, ms)
	if ms < k.nowMs {
		k.remove(key)
		return
	}
	k.touch(key)
}

// persist removes a key's deadline, and reports whether the key had one.
func (k *keyspace) persist(key string) bool {
	_, mortal := k.deadlines[key]
	if mortal {
		delete(k.deadlines, key)
		k.touch(key)
	}
	return mortal
}

// overwrite sets the key to a string without expiry, whatever its old type.
func (k *keyspace) overwrite(key, value string) {
	if err := k.db.Set(key, value); err != nil {
		k.db.Del(key)
		_ = k.db.Set(key, value) // cannot fail now: the key holds no other type
	}
	delete(k.deadlines, key)
	delete(k.own.owners, key)
	k.touch(key)
}

// copy copies an existing key. The caller accounts for the change.
func (k *keyspace) copy(from, to string) {
	k.db.Del(to)
	delete(k.deadlines, to)
	_ = k.store.Copy(0, from, 0, to) // fails only if from does not exist
	if ms, mortal := k.deadlines[from]; mortal {
		k.setDeadline(to, ms)
	}
}

// flush deletes all keys.
func (k *keyspace) flush() {
	k.tracking.invalidateAll()
	for _, key := range k.db.Keys() {
		k.db.Del(key)
		k.account(key)
	}
	k.writes++
}

// absolute converts a lifetime to Unix milliseconds of the node's clock. ok is false if the
// lifetime is out of range.
func (k *keyspace) absolute(unit string, v int64) (ms int64, ok bool) {
	if unit == "EX" || unit == "EXAT" {
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return 0, false
		}
		v *= 1000
	}
	if unit == "EX" || unit == "PX" {
		if v > math.MaxInt64-k.nowMs {
			return 0, false
		}
		v += k.nowMs
	}
	return v, true
}

// load replaces all data with a snapshot.
func (k *keyspace) load(now time.Time, s Snapshot) {
	k.tick(now)
	clear(k.hidden)
	kept := 0
	for _, key := range k.db.Keys() {
		i, ok := slices.BinarySearchFunc(s.keys, key, func(e *storedKey, key string) int { return strings.Compare(e.key, key) })
		if ok && s.keys[i] == k.entries[key] {
			kept++
			continue
		}
		k.drop(key)
	}
	if kept == len(s.keys) {
		return
	}
	for _, e := range s.keys {
		if k.entries[e.key] != e {
			k.restore(e)
			k.writes++
			k.touchWatched(e.key)
			k.tracking.invalidate(e.key)
		}
	}
}
