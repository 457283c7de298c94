package node

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockstorm/lockstorm/history"
)

// Version is the version of Redis that a node imitates and reports.
const Version = "7.0.15"

// Node is one simulated Redis node. It is not safe for concurrent use.
type Node struct {
	types  *server.Server     // miniredis, for the commands of the data types
	db     *miniredis.RedisDB // the node's only database
	store  *miniredis.Miniredis
	peer   *server.Peer // writes to out
	writer *bufio.Writer

	now   time.Time
	nowMs int64 // for expiry, in whole milliseconds as in Redis

	keys     keyspace
	readOnly bool
	writes   uint64
	drew     bool   // miniredis's random generator was used since it was seeded
	lacking  string // see Lacking

	sessions []*Session // open sessions, in the order of their numbers
	lastID   int
	channels subscriptions
	patterns subscriptions
	tracking tracking
	watched  map[string][]*Session

	lua scripting

	record record

	current *Session // session of the running command
	out     []byte   // the reply being written
	resp3   bool     // write the reply in RESP3
	pushes  []Push
}

// Push is a message that answers no command: a published message or an invalidation. Messages about
// changes by Load or Evict, or by an expiry during Keys or Snapshot, are returned by the next call of
// Exec or Expire.
type Push struct {
	To      *Session
	Message []byte
}

// New returns a new node. New is slow compared to all other operations: create a node once,
// outside any bubble, and Reset it before each use.
func New() (*Node, error) {
	n := &Node{store: miniredis.NewMiniRedis()}
	// Dialling starts miniredis without a listener. The connection is not used.
	conn, err := n.store.Dial()
	if err != nil {
		return nil, fmt.Errorf("start miniredis: %w", err)
	}
	n.types = n.store.Server()
	if err := conn.Close(); err != nil {
		return nil, fmt.Errorf("close miniredis's connection: %w", err)
	}
	n.types.Close()                  // waits for the connection's goroutines; commands still work
	n.store.SetTime(time.Unix(0, 0)) // keeps miniredis from reading the real clock
	n.db = n.store.DB(0)
	n.writer = bufio.NewWriter((*replyWriter)(n))
	n.peer = server.NewPeer(n.writer)
	n.drew = true
	n.lua.budget.ended = make(chan struct{}) // made here, since a channel made in a bubble belongs to the bubble
	close(n.lua.budget.ended)
	n.Reset()
	n.openLua()
	return n, nil
}

// Reset restores the state that New returned: writable, without keys, scripts or sessions.
// Older sessions must not be used any more.
func (n *Node) Reset() {
	n.db.FlushDB()
	if n.drew { // seeding costs more than the rest of a reset
		n.store.Seed(1)
		n.drew = false
	}
	n.now, n.nowMs = time.Time{}, 0
	n.keys.clear()
	n.record = record{}
	n.readOnly, n.writes, n.lacking = false, 0, ""
	n.sessions, n.lastID = nil, 0
	n.lua.random = seedOfRandom
	n.forget()
	n.out, n.resp3, n.pushes = n.out[:0], false, nil
}

// forget drops subscriptions, tracking, watches and scripts.
func (n *Node) forget() {
	n.channels, n.patterns = subscriptions{}, subscriptions{}
	n.tracking = tracking{}
	n.watched = map[string][]*Session{}
	n.lua.flush()
}

// Restarted drops the scripts and all state of sessions, as a restart of the process does. It keeps
// the data. Reload replaces the data.
func (n *Node) Restarted() {
	for _, s := range n.sessions {
		s.reset()
	}
	n.lua.random = seedOfRandom
	n.forget()
}

// SetReadOnly makes the node a replica (on) or a primary. A replica refuses clients' writes.
// It hides expired keys, but does not delete them. When a replica becomes a primary, the
// witness is told how the node's data differ from those last reported.
func (n *Node) SetReadOnly(on bool) {
	n.readOnly = on
	if on {
		n.Unwatch()
	} else {
		n.serve(history.ByPromotion)
	}
}

// Writes returns a counter that grows whenever a command, an expiry, an eviction or a load may have
// changed data.
func (n *Node) Writes() uint64 { return n.writes }

// FlushScripts empties the script cache and returns how many scripts it held.
func (n *Node) FlushScripts() int {
	scripts := len(n.lua.scripts)
	n.lua.flush()
	return scripts
}

// Keys lists the node's keys at now, sorted by key.
func (n *Node) Keys(now time.Time) []history.KeyState {
	n.tick(now)
	var states []history.KeyState
	for _, key := range n.db.Keys() {
		states = append(states, n.storedKey(key).state(n.nowMs))
	}
	return states
}

// Mortal counts the keys with an expiry. It expires no keys.
func (n *Node) Mortal() int { return len(n.keys.deadlines) }

// Evict deletes all keys, as an allkeys policy of maxmemory would, and returns their last
// states, sorted by key.
func (n *Node) Evict(now time.Time) []history.KeyState {
	states := n.Keys(now)
	for _, k := range states {
		n.remove(k.Key)
	}
	n.report(history.ByEviction)
	return states
}

// tick moves the node's clock, which may go back, and expires keys.
func (n *Node) tick(now time.Time) {
	n.now, n.nowMs = now, now.UnixMilli()
	n.expire()
}

// takePushes returns and clears the accumulated messages, ordered by session.
func (n *Node) takePushes() []Push {
	pushes := n.pushes
	n.pushes = nil
	if len(pushes) > 1 {
		slices.SortStableFunc(pushes, func(a, b Push) int { return cmp.Compare(a.To.id, b.To.id) })
	}
	return pushes
}
