package checker

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// lostBy explains a grant that its node lost.
func (rp *replay) lostBy(first *keyspace.Grant, end *keyspace.End) reason {
	cmds := []int{first.Cmd}
	for _, op := range rp.Ops {
		if op.Index != end.Event {
			continue
		}
		return because(ServerLostKey, cmds, Fact{
			What: cmp.Or(losses[op.F], restartedWith), Nodes: []string{op.Node}, Key: first.Key, At: op.Time,
			Clients: []int{first.Client}, Since: first.At.Lo,
		})
	}
	if !slices.ContainsFunc(rp.Ops, func(op history.Op) bool {
		return op.F == history.FNodeDown || op.F == history.FNodeUp || op.F == history.FPromote
	}) {
		return unclear // no server lost anything in this trial, so the reason is unknown
	}
	return because(ServerLostKey, cmds, Fact{
		What: vanished, Nodes: []string{first.Node}, Key: first.Key, Clients: []int{first.Client}, Since: first.At.Lo,
	})
}

// asOf returns what stood in first's place when second was granted. A node that restarts
// without its last writes gets old keys back as copies. A copy that came after second does
// not explain why second got in; the grant or copy before it does.
func (rp *replay) asOf(first, second *keyspace.Grant) *keyspace.Grant {
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

// entryGone explains the end of a lock that counts its owner's entries: a release ended
// the lock before the owner left its last entry, because an earlier entry had been lost or
// had expired.
func (rp *replay) entryGone(first *keyspace.Grant, end *keyspace.End) (reason, bool) {
	h := rp.hold(first)
	if h == nil || len(h.Again) == 0 {
		return reason{}, false
	}
	for _, ok := range append([]int{h.Acquire}, h.Again...) {
		op, _ := rp.invocation(ok)
		for _, l := range rp.Of(op) {
			switch {
			case l.Key != first.Key || l.Node != first.Node:
			case l.Copied:
				return because(ServerLostKey, []int{l.Cmd, end.Cmd}, Fact{
					What: entryForgotten, Nodes: []string{l.Node}, Clients: []int{l.Client}, Since: l.At.Lo,
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
