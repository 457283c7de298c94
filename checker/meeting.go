package checker

import (
	"slices"

	"github.com/lockstorm/lockstorm/keyspace"
)

// carrying drops the grants that the party's own acquire removed again, and those that
// keep nobody out. It keeps all grants if none would be left.
func (rp *replay) carrying(all []*keyspace.Grant) []*keyspace.Grant {
	left := slices.DeleteFunc(slices.Clone(all), func(g *keyspace.Grant) bool {
		own := g.End != nil && g.End.Cmd >= 0 && rp.Commands[g.End.Cmd].Op == g.Op
		return own || rp.keepsNobodyOut(g)
	})
	if len(left) == 0 {
		return all
	}
	return left
}

// meeting pairs the grants of two parties, one pair for each node on which both had some.
// It prefers two grants in the same place, best if the first had ended before the second
// was made. Otherwise it pairs the last grants of the two parties.
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

// decisive drops pairs of copies on a promoted node if the originals of both parties met on
// another node: that node let the second party in.
func (rp *replay) decisive(pairs [][2]*keyspace.Grant) [][2]*keyspace.Grant {
	copies := func(p [2]*keyspace.Grant) bool { return p[0].Copied && p[1].Copied }
	originals := func(p [2]*keyspace.Grant) bool { return !p[0].Copied && !p[1].Copied }
	if rp.Claims.NodeQuorum() > 1 || !slices.ContainsFunc(pairs, originals) {
		return pairs
	}
	return slices.DeleteFunc(pairs, copies)
}

// apart reports whether the two parties had grants in the same place on different nodes.
func apart(a, b []*keyspace.Grant) bool {
	return slices.ContainsFunc(a, func(x *keyspace.Grant) bool {
		return slices.ContainsFunc(b, func(y *keyspace.Grant) bool { return x.Node != y.Node && x.Key == y.Key && x.Place == y.Place })
	})
}

// rank rates how closely two grants on a node are related; higher is closer.
func rank(x, y *keyspace.Grant) int {
	switch {
	case x.Key == y.Key && x.Place == y.Place && (x.EndedBefore(y) || y.EndedBefore(x)):
		return 4
	case x.Key == y.Key && x.Place == y.Place && (x.Over != nil || x.End != nil):
		return 3 // one of the two was ended or overwritten: no shares side by side
	case x.Key == y.Key && x.Place == y.Place:
		return 2
	case x.Key == y.Key:
		return 1
	}
	return 0
}
