package node

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Snapshot is the data of a node at one time. It is immutable. Snapshots share the memory of keys
// that did not change between them. The zero Snapshot is empty.
type Snapshot struct {
	keys []*storedKey // sorted by key
}

// Keys lists the snapshot's keys that have not expired at now, sorted by key.
func (s Snapshot) Keys(now time.Time) []history.KeyState {
	var states []history.KeyState
	for _, e := range s.keys {
		if !e.mortal || now.UnixMilli() <= e.deadline {
			states = append(states, e.state(now.UnixMilli()))
		}
	}
	return states
}

// storedKey is a key with its value. It is immutable.
type storedKey struct {
	key, kind string
	text      string   // value of a string
	list      []string // list elements, set or sorted set members, hash fields and values
	scores    []float64
	mortal    bool
	deadline  int64 // Unix milliseconds, if mortal
}

// storedKey returns a key with its value, nil if the key does not exist. The result is cached until
// the key changes.
func (k *keyspace) storedKey(key string) *storedKey {
	if e := k.entries[key]; e != nil {
		return e
	}
	e := &storedKey{key: key, kind: k.db.Type(key)}
	// The errors below can only be "no such key" or "wrong type". The switch excludes both.
	switch e.kind {
	case "string":
		e.text, _ = k.db.Get(key)
	case "hash":
		fields, _ := k.db.HKeys(key)
		for _, f := range fields {
			e.list = append(e.list, f, k.db.HGet(key, f))
		}
	case "list":
		items, _ := k.db.List(key)
		e.list = slices.Clone(items)
	case "set":
		e.list, _ = k.db.Members(key)
	case "zset":
		e.list, _ = k.db.ZMembers(key)
		for _, m := range e.list {
			score, _ := k.db.ZScore(key, m)
			e.scores = append(e.scores, score)
		}
	default:
		return nil
	}
	e.deadline, e.mortal = k.deadlines[key]
	k.entries[key] = e
	return e
}

// restore creates the key of e, which must not exist, with e's value and deadline.
func (k *keyspace) restore(e *storedKey) {
	// miniredis's only error is "wrong type", which a new key cannot cause.
	switch e.kind {
	case "string":
		_ = k.db.Set(e.key, e.text)
	case "hash":
		k.db.HSet(e.key, e.list...)
	case "list":
		_, _ = k.db.Push(e.key, e.list...)
	case "set":
		_, _ = k.db.SetAdd(e.key, e.list...)
	case "zset":
		for i, m := range e.list {
			_, _ = k.db.ZAdd(e.key, e.scores[i], m)
		}
	}
	if e.mortal {
		k.setDeadline(e.key, e.deadline)
	}
	k.entries[e.key] = e
}

// Snapshot returns the node's data at now.
func (n *Node) Snapshot(now time.Time) Snapshot {
	n.tick(now)
	keys := n.db.Keys()
	s := Snapshot{make([]*storedKey, 0, len(keys)+len(n.hidden))}
	for _, key := range keys {
		s.keys = append(s.keys, n.storedKey(key))
	}
	if len(n.hidden) > 0 {
		for _, e := range n.hidden {
			s.keys = append(s.keys, e)
		}
		slices.SortFunc(s.keys, func(a, b *storedKey) int { return strings.Compare(a.key, b.key) })
	}
	return s
}

// Load replaces all data of the node with a snapshot of this or another node. Sessions and
// scripts stay.
func (n *Node) Load(now time.Time, s Snapshot) {
	n.load(now, s)
	n.expire()
}

// Reload is Load for a restarted process. If the node serves clients, Reload tells the witness
// which data the restart lost.
func (n *Node) Reload(now time.Time, s Snapshot, serves bool) {
	n.Unwatch()
	n.load(now, s)
	if serves {
		n.serve(history.ByRestart)
	}
	n.expire()
}

// state returns the key as a history.KeyState, with the key's TTL at nowMs (Unix milliseconds).
func (e *storedKey) state(nowMs int64) history.KeyState {
	k := history.KeyState{Key: e.key, Type: e.kind, TTL: -1}
	if e.mortal {
		k.TTL = time.Duration(e.deadline-nowMs) * time.Millisecond
	}
	switch e.kind {
	case "string":
		k.Value = history.Bytes(e.text)
	case "hash":
		pairs := make([]string, 0, len(e.list)/2)
		for i := 0; i < len(e.list); i += 2 {
			pairs = append(pairs, e.list[i]+"="+e.list[i+1])
		}
		slices.Sort(pairs)
		k.Value = history.Bytes(strings.Join(pairs, " "))
	}
	return k
}
