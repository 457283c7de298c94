package node

import (
	"bufio"
	"fmt"
	"math"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockstorm/lockstorm/history"
)

// Version is the version of Redis that a node imitates and reports.
const Version = "7.0.15"

// Node is one simulated Redis node. It is not safe for concurrent use. Its parts are the keys
// (keyspace), the sessions and what they get (clients), the scripts (scripting) and, for each command
// that runs, a call.
type Node struct {
	*clients
	*keyspace
	channels subscriptions
	patterns subscriptions
	lua      scripting

	types   *server.Server // miniredis, for the commands of the data types
	peer    *server.Peer   // writes to the reply
	writer  *bufio.Writer
	drew    bool   // miniredis's random generator was used since it was seeded
	lacking string // see Lacking
}

// New returns a new node. New is slow compared to all other operations: create a node once,
// outside any bubble, and Reset it before each use.
func New() (*Node, error) {
	store, c := miniredis.NewMiniRedis(), new(clients)
	// Dialling starts miniredis without a listener. The connection is not used.
	conn, err := store.Dial()
	if err != nil {
		return nil, fmt.Errorf("start miniredis: %w", err)
	}
	types := store.Server()
	if err := conn.Close(); err != nil {
		return nil, fmt.Errorf("close miniredis's connection: %w", err)
	}
	types.Close()                  // waits for the connection's goroutines; commands still work
	store.SetTime(time.Unix(0, 0)) // keeps miniredis from reading the real clock
	n := &Node{
		clients: c, types: types, writer: bufio.NewWriter(c), drew: true,
		keyspace: &keyspace{store: store, db: store.DB(0), tracking: tracking{clients: c}},
	}
	n.peer = server.NewPeer(n.writer)
	n.lua.node = n
	n.lua.budget.ended = make(chan struct{}) // made here, since a channel made in a bubble belongs to the bubble
	close(n.lua.budget.ended)
	n.Reset()
	n.lua.open()
	return n, nil
}

// Reset restores the state that New returned: writable, without keys, scripts or sessions.
// Older sessions must not be used any more.
func (n *Node) Reset() {
	if n.drew { // seeding costs more than the rest of a reset
		n.store.Seed(1)
		n.drew = false
	}
	n.keyspace.reset()
	*n.clients = clients{reply: reply{out: n.out[:0]}}
	n.lacking = ""
	n.forgetAll()
}

// forgetAll drops subscriptions, tracking, watches and scripts.
func (n *Node) forgetAll() {
	n.channels, n.patterns = subscriptions{}, subscriptions{}
	n.keyspace.forget()
	n.lua.random = seedOfRandom
	n.lua.flush()
}

// Restarted drops the scripts and all state of sessions, as a restart of the process does. It keeps
// the data. Reload replaces the data.
func (n *Node) Restarted() {
	for _, s := range n.sessions {
		s.reset()
	}
	n.forgetAll()
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
func (n *Node) Mortal() int { return len(n.deadlines) }

// Evict deletes all keys, as an allkeys policy of maxmemory would, and returns their last
// states, sorted by key.
func (n *Node) Evict(now time.Time) []history.KeyState {
	states := n.Keys(now)
	for _, k := range states {
		n.drop(k.Key)
	}
	n.report(history.ByEviction)
	return states
}

// Expire deletes the keys that have expired by now, as Redis does even without a command. It
// returns the invalidations for sessions that track these keys. A replica only hides the keys.
func (n *Node) Expire(now time.Time) []Push {
	n.tick(now)
	n.tracking.broadcast()
	return n.takePushes()
}

// NextExpiry returns an instant of the node's wall clock before which no key expires. The zero time
// means that no key has an expiry.
func (n *Node) NextExpiry() time.Time {
	if n.earliest == math.MaxInt64 {
		return time.Time{}
	}
	return time.UnixMilli(n.earliest)
}

// Lacking returns a line about the first operation since New or Reset that the node could
// not do as Redis does; "" if there was none. The node's later behaviour may differ from
// that of Redis.
func (n *Node) Lacking() string { return n.lacking }
