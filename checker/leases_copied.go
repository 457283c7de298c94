package checker

import (
	"iter"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file judges leases whose ends are stored in values, on nodes that have copies of the
// keys. A replica that became a primary, or a node that restarted, may lack the last
// writes.

// copiedAsOf returns how up to date the copy of a grant is: the time of the last command that gave the key
// the value that the copy has. A command that also gave the key the copy's TTL takes precedence. If there
// is no such command, copiedAsOf returns the time at which the copy came.
func (rp *ages) copiedAsOf(g *keyspace.Grant) time.Duration {
	asOf := g.Came
	came := slices.IndexFunc(rp.Steps, func(s keyspace.Step) bool {
		k := rp.Evidence.Keys[s.Change]
		return s.Cmd < 0 && s.At.Lo == g.Came && k.Node == g.Node && string(k.Key) == g.Key && k.After != nil
	})
	if came >= 0 {
		with, exact := rp.Evidence.Keys[rp.Steps[came].Change].After, false
		for _, s := range slices.Backward(rp.Steps[:came]) {
			k := rp.Evidence.Keys[s.Change]
			if string(k.Key) != g.Key || s.Cmd < 0 || s.At.Lo > g.Came || !k.After.SameValue(with) {
				continue
			}
			if !exact {
				asOf, exact = s.At.Lo, true
			}
			if k.After.Expires == with.Expires {
				asOf = s.At.Lo
				break
			}
		}
	}
	return asOf
}

// putOffElsewhere explains a grant whose lease had ended on the node of the command at place pos but
// not on another node that had the grant. On the other node, the owner had prolonged the lease, or
// its turn in a queue had come after the split between the two nodes.
func (rp *endings) putOffElsewhere(first *keyspace.Grant, pos int) (reason, bool) {
	at := rp.Ran(pos).Lo
	runs := func(since time.Duration) bool { return since <= at && at-since < rp.Claims.TTL-termSlack }
	if first.Copied {
		asOf := rp.copies[first]
		for _, w := range rp.keyWrites[keyWriter{first.Key, first.Client}] {
			if w.node == first.Node || w.at <= asOf || w.at > first.Came || !runs(w.at) || !rp.belongsTo(w, first) {
				continue
			}
			return because(ServerLostKey, []int{first.Cmd, w.cmd}, account.Fact{
				What: account.ExtensionLost, Nodes: []string{first.Node}, Clients: []int{first.Client}, Command: rp.call(w.cmd),
				At: w.at, Since: first.Came, Key: first.Key,
			}), true
		}
	}
	for l, p := range rp.onOtherPrimary(first, rp.endSeq(first), at) {
		why := account.Fact{Nodes: []string{p.Old, p.Heir, l.Node, first.Node}, Since: p.Since, Key: first.Key, Clients: []int{first.Client}}
		if w, written := rp.lastWrite(l, at); written && w.node == l.Node && runs(w.at) {
			why.What, why.Command, why.At = account.ExtendedApart, rp.call(w.cmd), w.at
			return because(ServerLostKey, []int{first.Cmd, w.cmd}, why), true
		}
		if h := rp.hold(l); h != nil && h.From > p.Since && runs(h.From) && rp.askedAfter(l, p.Since) {
			why.What, why.At = account.TurnApart, h.From
			return because(ServerLostKey, []int{first.Cmd}, why), true
		}
	}
	return reason{}, false
}

// onOtherPrimary yields the grants of the same acquire in the same place that stood, or were lost, at that
// time on the other primary of a split brain that was open at seq.
func (rp *ages) onOtherPrimary(g *keyspace.Grant, seq int, at time.Duration) iter.Seq2[*keyspace.Grant, *keyspace.SplitBrain] {
	return func(yield func(*keyspace.Grant, *keyspace.SplitBrain) bool) {
		for _, l := range rp.Of(g.Op) {
			p := rp.SplitBrainOf(g.Node, l.Node, seq)
			ended := l.End != nil && l.End.How != keyspace.Lost && l.End.At.Lo <= at
			if p != nil && l.KeyPlace() == g.KeyPlace() && !ended && !yield(l, p) {
				return
			}
		}
	}
}

// lostInPart reports whether the node that has the copy of a grant lost another grant of
// the same acquire.
func (rp *endings) lostInPart(g *keyspace.Grant) bool {
	return slices.ContainsFunc(rp.Of(g.Op), func(part *keyspace.Grant) bool {
		return part.Node == g.Node && part.End != nil && part.End.How == keyspace.Lost
	})
}

// askedAfter reports whether the grant's acquire sent a command to the grant's node after
// that time.
func (rp *trial) askedAfter(g *keyspace.Grant, at time.Duration) bool {
	return slices.ContainsFunc(rp.SentBy(g.Op), func(pos int) bool {
		return rp.Commands[pos].Node == g.Node && rp.Commands[pos].Sent > at
	})
}

// endSeq returns the Seq at which the grant ended or was overwritten, whichever came first.
// If neither happened, it returns the Seq of the trial's end.
func (rp *trial) endSeq(g *keyspace.Grant) int {
	seq := rp.Last
	if g.Over != nil {
		seq = min(seq, g.OverSeq)
	}
	if g.End != nil {
		seq = min(seq, g.End.Seq)
	}
	return seq
}
