// Package nodetest drives simulated nodes by hand and records how their keys change. It is for
// tests of code that reads such records.
package nodetest

import (
	"cmp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// Epoch is the time that a node's wall clock shows when a trial starts, in Unix milliseconds.
const Epoch = 1_700_000_000_000

// Active is how long a node keeps an expired key that nobody accesses. Redis looks for such keys
// ten times a second.
const Active = 100 * time.Millisecond

// World is a set of nodes and the changes of their keys.
type World struct {
	Changes []history.KeyChange

	tb    testing.TB
	nodes map[string]*Node
	order []*Node
}

// idle holds nodes that no world uses, for reuse: making a node takes long.
var idle sync.Pool

// NewWorld makes a world without nodes. Close releases the world's nodes.
func NewWorld(tb testing.TB) *World { return &World{tb: tb, nodes: map[string]*Node{}} }

// Close ends the world. Its nodes must not be used any more.
func (w *World) Close() {
	for _, n := range w.order {
		if lack := n.redis.Lacking(); lack != "" {
			w.tb.Errorf("%s: %s", n.name, lack)
		}
		n.redis.Reset()
		idle.Put(n.redis)
	}
	w.nodes, w.order = map[string]*Node{}, nil
}

// Node is one node of a world: a primary, unless Follow makes it a replica.
type Node struct {
	// Past is the node's content after each change, the latest last.
	Past []node.Snapshot

	name    string
	world   *World
	redis   *node.Node
	session *node.Session
	skew    time.Duration
	now     time.Duration
	exec    int               // number of the running command
	ran     int               // number of the last command that ran
	as      history.ChangedBy // the cause to record for changes; "" = the cause that the node names
	unseen  bool
}

// Node returns the node with this name. It makes the node if there is none yet.
func (w *World) Node(name string) *Node {
	if n := w.nodes[name]; n != nil {
		return n
	}
	redis, _ := idle.Get().(*node.Node)
	if redis == nil {
		var err error
		if redis, err = node.New(); err != nil {
			w.tb.Fatal(err)
		}
	}
	n := &Node{name: name, world: w, redis: redis, session: redis.Connect()}
	redis.Watch(n)
	w.nodes[name] = n
	w.order = append(w.order, n)
	return n
}

// Expire removes, on every node, the keys that expired at least Active before the given time.
func (w *World) Expire(at time.Duration) {
	for _, n := range w.order {
		n.Expire(at)
	}
}

func (n *Node) wall() time.Time { return time.UnixMilli(Epoch).Add(n.now + n.skew) }

// Ends implements node.Witness.
func (n *Node) Ends(deadline time.Time) time.Duration {
	return deadline.Sub(time.UnixMilli(Epoch)) - n.skew
}

// Changed implements node.Witness.
func (n *Node) Changed(key string, by history.ChangedBy, before, after *history.KeyContent) {
	if n.unseen {
		return
	}
	exec := n.ran
	if by = cmp.Or(n.as, by); by == history.ByCommand {
		exec = n.exec
	}
	n.world.Changes = append(n.world.Changes, history.KeyChange{
		Index: len(n.world.Changes), Node: n.name, Key: history.Bytes(key), By: by, Exec: exec,
		From: n.now, To: n.now, Before: before, After: after,
	})
}

// do calls the function what at the given time. The parameter as is the cause to record for its
// changes (Node.as). If the call changes a key, do adds the node's new state to Past.
func (n *Node) do(at time.Duration, as history.ChangedBy, what func()) {
	writes := n.redis.Writes()
	n.now = at
	n.as = as
	what()
	n.as = ""
	if n.redis.Writes() != writes {
		n.Past = append(n.Past, n.redis.Snapshot(n.wall()))
	}
}

// Expire removes the keys that expired at least Active before the given time.
func (n *Node) Expire(at time.Duration) {
	for {
		due := n.redis.NextExpiry()
		if due.IsZero() || n.Ends(due)+Active > at {
			return
		}
		n.do(max(n.now, n.Ends(due)+Active), "", func() { n.redis.Expire(n.wall()) })
		if n.redis.NextExpiry().Equal(due) {
			return // a replica expires no keys by itself
		}
	}
}

// Run executes a client's command as command number exec of the node, and returns the reply in its
// compact form.
func (n *Node) Run(at time.Duration, exec int, args ...string) (reply history.Bytes) {
	n.Expire(at)
	n.now = at
	n.redis.Expire(n.wall()) // so that expiry is recorded before the command's changes
	n.do(at, "", func() {
		n.exec = exec
		raw, _ := n.session.Exec(n.wall(), args)
		reply = resp.Message(raw).Compact()
	})
	n.ran = exec
	return reply
}

// Meddle runs a command that no client of the trial sent. The argument by is recorded as
// the cause of the changes.
func (n *Node) Meddle(at time.Duration, by history.ChangedBy, args ...string) {
	n.Expire(at)
	n.now = at
	n.redis.Expire(n.wall())
	n.do(at, by, func() { n.session.Exec(n.wall(), args) })
}

// Load loads a script into the node's script cache.
func (n *Node) Load(source string) { n.session.Exec(n.wall(), []string{"SCRIPT", "LOAD", source}) }

// Flush empties the script cache.
func (n *Node) Flush() { n.redis.FlushScripts() }

// SetClock makes the node's wall clock jump, so that it is ahead of the true time by ahead.
func (n *Node) SetClock(at, ahead time.Duration) {
	n.Expire(at)
	n.do(at, "", func() {
		n.skew = ahead
		n.redis.ClockSet()
	})
}

// Evict removes the named keys, or all keys if no name is given. It returns the removed keys.
func (n *Node) Evict(at time.Duration, names ...string) (gone []history.KeyState) {
	n.Expire(at)
	for _, k := range n.Keys(at) {
		if len(names) == 0 || slices.Contains(names, k.Key) {
			gone = append(gone, k)
		}
	}
	for _, k := range gone {
		n.Meddle(at, history.ByEviction, "DEL", k.Key)
	}
	return gone
}

// Keys lists the node's keys at the given time.
func (n *Node) Keys(at time.Duration) []history.KeyState {
	n.Expire(at)
	n.now = at
	return n.redis.Keys(n.wall())
}

// Restart restarts the node with the given state.
func (n *Node) Restart(at time.Duration, with node.Snapshot) {
	n.do(at, "", func() {
		n.redis.Restarted()
		n.redis.Reload(n.wall(), with, true)
	})
}

// Follow makes the node a replica. Changes of a replica's keys are not recorded.
func (n *Node) Follow() { n.redis.SetReadOnly(true) }

// Promote makes a replica a primary with the given replicated state.
func (n *Node) Promote(at time.Duration, with node.Snapshot) {
	n.do(at, "", func() {
		n.redis.Load(n.wall(), with)
		n.redis.SetReadOnly(false)
		n.redis.Expire(n.wall())
	})
}

// MoveTo moves all of the node's keys to another node, as a migration of their slots does, and
// returns the keys.
func (n *Node) MoveTo(at time.Duration, to *Node) (moved []history.KeyState) {
	moved = n.Keys(at)
	data := n.redis.Snapshot(n.wall())
	n.do(at, history.ByMigration, func() { n.redis.Reload(n.wall(), node.Snapshot{}, true) })
	to.do(at, history.ByMigration, func() { to.redis.Reload(to.wall(), data, true) })
	return moved
}

// Unsee stops recording the changes of the node's keys.
func (n *Node) Unsee() { n.unseen = true }
