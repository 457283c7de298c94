package checker

import (
	"slices"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// lostBy explains a grant that its node lost.
func (rp *endings) lostBy(first *keyspace.Grant, end *keyspace.End) reason {
	cmds := []int{first.Cmd}
	if op, known := rp.event(end.Event); known {
		return because(ServerLostKey, cmds, account.Fact{
			What: lossOf(op).ended, Nodes: []string{op.Node}, Key: first.Key, At: op.Time,
			Clients: []int{first.Client}, Since: first.At.Lo,
		})
	}
	if !slices.ContainsFunc(rp.Ops, func(op history.Op) bool {
		return op.Event(history.FNodeDown) || op.Event(history.FNodeUp) || op.Event(history.FPromote)
	}) {
		return unclear // no node went down, came up or was promoted in this trial, so the reason is unknown
	}
	return because(ServerLostKey, cmds, account.Fact{
		What: account.Vanished, Nodes: []string{first.Node}, Key: first.Key, Clients: []int{first.Client}, Since: first.At.Lo,
	})
}

// asOf returns the grant or copy that stood in the place of the first grant when the second was made. A
// node that restarts without its last writes gets old keys back as copies. If first is a copy that came
// after the second grant, first cannot explain that grant: asOf then returns the original grant in that
// place, or its latest copy that came before the second grant, if there is one.
func (rp *endings) asOf(first, second *keyspace.Grant) *keyspace.Grant {
	if !first.Copied || first.Came <= second.At.Hi {
		return first
	}
	was := first
	for _, g := range rp.Of(first.Op) {
		same := g.NodeKey() == first.NodeKey() && g.Place == first.Place && g.Seq == first.Seq
		if same && g.Came <= second.At.Lo && (was == first || g.Came >= was.Came) {
			was = g
		}
	}
	return was
}

// entryGone explains why a reentrant lock was free too early. A release freed the lock although the
// owner had more acquires than releases, because the key's entry of an earlier acquire had been lost
// or had expired.
func (rp *endings) entryGone(first *keyspace.Grant, end *keyspace.End) (reason, bool) {
	h := rp.hold(first)
	if h == nil || len(h.Nested) == 0 {
		return reason{}, false
	}
	for _, ok := range append([]int{h.Acquire}, h.Nested...) {
		op, _ := rp.Invocation(ok)
		for _, l := range rp.Of(op) {
			switch {
			case l.Key != first.Key || l.Node != first.Node:
			case l.Copied:
				return because(ServerLostKey, []int{l.Cmd, end.Cmd}, account.Fact{
					What: account.EntryForgotten, Nodes: []string{l.Node}, Clients: []int{l.Client}, Since: l.At.Lo,
					Command: rp.call(end.Cmd), At: end.At.Lo,
				}), true
			case l.Op == first.Op || l.End == nil || l.End.Seq >= end.Seq:
			case l.End.How == keyspace.Lost:
				return rp.lostBy(l, l.End).of(l), true
			case l.End.How == keyspace.Expired:
				return rp.expiredUnder(l, nil).of(l), true
			}
		}
	}
	return reason{}, false
}

// carrying drops three kinds of grants: grants that the party's own acquire removed again, grants
// that keep nobody out, and grants in keys through which clients only pass (see passages). It keeps
// all grants if none would be left.
func (rp *places) carrying(all []*keyspace.Grant) []*keyspace.Grant {
	left := slices.DeleteFunc(slices.Clone(all), func(g *keyspace.Grant) bool { return rp.endedIn(g, g.Op) || rp.is(g, aside) })
	if len(left) == 0 {
		return all
	}
	return left
}

// meeting pairs the grants of two parties, one pair for each node on which both had grants. It
// chooses the most closely related grants: see rank. Two grants in the same place are best if one
// had ended before the other was made. Of equally related pairs it chooses the last.
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
func (rp *endings) decisive(pairs [][2]*keyspace.Grant) [][2]*keyspace.Grant {
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
		return 3 // x ended or was overwritten: x and y do not share one counter of holders
	case x.Key == y.Key && x.Place == y.Place:
		return 2
	case x.Key == y.Key:
		return 1
	}
	return 0
}
