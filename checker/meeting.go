package checker

import (
	"slices"

	"github.com/lockstorm/lockstorm/keyspace"
)

// carrying drops the grants that the party's acquire took away again itself, and those that
// keep nobody out. It keeps all grants if none would be left.
func (w *wire) carrying(all []*keyspace.Grant) []*keyspace.Grant {
	left := slices.DeleteFunc(slices.Clone(all), func(g *keyspace.Grant) bool {
		own := g.End != nil && g.End.Cmd >= 0 && w.Commands[g.End.Cmd].Op == g.Op
		return own || w.keepsNobodyOut(g)
	})
	if len(left) == 0 {
		return all
	}
	return left
}

// meeting pairs the grants of two parties, one pair for each node on which both had some.
// It prefers two grants in the same place, best in one that was free again between them.
// Otherwise it pairs the last grant of each party.
func meeting(a, b []*keyspace.Grant) (pairs [][2]*keyspace.Grant) {
	at := map[string]int{}
	for _, y := range b {
		for _, x := range a {
			if x.Node != y.Node {
				continue
			}
			i, ok := at[x.Node]
			if !ok {
				i = len(pairs)
				at[x.Node] = i
				pairs = append(pairs, [2]*keyspace.Grant{x, y})
			}
			if rank(x, y) >= rank(pairs[i][0], pairs[i][1]) {
				pairs[i] = [2]*keyspace.Grant{x, y}
			}
		}
	}
	return pairs
}

// apart says whether the parties have the same place on different nodes.
func apart(a, b []*keyspace.Grant) bool {
	return slices.ContainsFunc(a, func(x *keyspace.Grant) bool {
		return slices.ContainsFunc(b, func(y *keyspace.Grant) bool { return x.Node != y.Node && x.Key == y.Key && x.Place == y.Place })
	})
}

// rank is how close two grants on a node are to each other.
func rank(x, y *keyspace.Grant) int {
	switch {
	case x.Key == y.Key && x.Place == y.Place && (x.EndedBefore(y) || y.EndedBefore(x)):
		return 4
	case x.Key == y.Key && x.Place == y.Place && (x.Over != nil || x.End != nil):
		return 3 // not a share that stood beside another's
	case x.Key == y.Key && x.Place == y.Place:
		return 2
	case x.Key == y.Key:
		return 1
	}
	return 0
}
