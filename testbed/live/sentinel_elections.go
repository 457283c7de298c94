package live

import (
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// hearing returns a listener to the commands from Sentinels to n. It hears a REPLICAOF in a
// transaction before the node executes the transaction at EXEC.
func (e *env) hearing(n *node) hearing {
	return func(_ string, args []history.Bytes) {
		switch resp.Name(args) {
		case "SLAVEOF", "REPLICAOF":
			if resp.Name(args[1:]) == "NO" {
				e.promoted(n)
			} else {
				e.sentinels.deposed(n)
			}
		}
	}
}

// promoted notes that the node is about to become the primary.
func (e *env) promoted(n *node) {
	w := e.sentinels
	w.mu.Lock()
	defer w.mu.Unlock()
	if n == w.shard.present() {
		return // noted already
	}
	w.elected(w.shard, n)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.primary = n
}

// deposed notes that the node is no primary any more. It may have been a replica all along.
func (w *sentinels) deposed(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n == w.shard.master {
		w.unite(w.shard)
	}
}

// reaching notes that a client is about to connect to the node.
func (w *sentinels) reaching(client int, n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached(w.shard, client, n)
}

// rivals returns the two primaries, or nil if there is only one.
func (w *sentinels) rivals() (old, heir *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shard.heir == nil {
		return nil, nil
	}
	return w.shard.master, w.shard.heir
}
