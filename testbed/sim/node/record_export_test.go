package node

import "github.com/lockstorm/lockstorm/history"

// Contents returns the contents of a watched node's keys, without using the node's cache.
func (n *Node) Contents() map[string]*history.KeyContent {
	clear(n.entries)
	all := map[string]*history.KeyContent{}
	for _, key := range n.db.Keys() {
		all[key] = n.content(key)
	}
	return all
}
