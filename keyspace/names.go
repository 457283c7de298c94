package keyspace

// NodeKey is a key on a node.
type NodeKey struct{ Node, Key string }

// KeyPlace is a place of a key on any node: a field or a member, or "" for a whole string.
type KeyPlace struct{ Key, Place string }

// NodeKey names the key that the grant is in.
func (g *Grant) NodeKey() NodeKey { return NodeKey{g.Node, g.Key} }

// KeyPlace names the place that the grant is in.
func (g *Grant) KeyPlace() KeyPlace { return KeyPlace{g.Key, g.Place} }
