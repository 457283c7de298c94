package node

import "github.com/lockstorm/lockstorm/history"

// Contents are what a watched node has under its keys, read anew.
func (n *Node) Contents() map[string]*history.KeyContent {
	clear(n.keys.entries)
	all := map[string]*history.KeyContent{}
	for _, key := range n.db.Keys() {
		all[key] = n.content(key)
	}
	return all
}
