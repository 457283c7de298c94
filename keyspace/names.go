package keyspace

// NodeKey is a key on a node.
type NodeKey struct{ Node, Key string }

// KeyPlace is a place of a key on any node: a field or a member, or "" for a whole string.
type KeyPlace struct{ Key, Place string }

// NodeKey returns the key that carries the grant.
func (g *Grant) NodeKey() NodeKey { return NodeKey{g.Node, g.Key} }

// KeyPlace returns the place that holds the grant.
func (g *Grant) KeyPlace() KeyPlace { return KeyPlace{g.Key, g.Place} }
