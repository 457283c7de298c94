package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// queues sorts the commands that may have run by node.
func (w *wire) queues() []*node {
	var order []*node
	for pos, c := range w.Commands {
		n := w.nodes[c.Node]
		if n == nil {
			n = newNode(c.Node)
			w.nodes[c.Node] = n
			order = append(order, n)
		}
		if w.primary == "" {
			w.primary = c.Node
		}
		n.queue = append(n.queue, pos)
		if c.Replied == 0 {
			w.unanswered[c.Op] = true
		}
	}
	// A testbed that sees the order sees it everywhere.
	ordered := slices.ContainsFunc(w.Commands, func(c history.Command) bool { return c.Exec > 0 })
	for _, n := range order {
		if ordered {
			n.queue = slices.DeleteFunc(n.queue, func(pos int) bool { return w.Commands[pos].Exec <= 0 })
			slices.SortStableFunc(n.queue, func(a, b int) int { return cmp.Compare(w.Commands[a].Exec, w.Commands[b].Exec) })
			w.limit(n)
			continue
		}
		slices.SortStableFunc(n.queue, func(a, b int) int { return cmp.Compare(w.ran(a).lo, w.ran(b).lo) })
		w.blur(n)
	}
	return order
}

// limit finds out when the node was done at the latest with what it did not answer.
func (w *wire) limit(n *node) {
	for i, pos := range n.queue {
		if w.Commands[pos].Served > 0 {
			continue
		}
		w.until[pos] = w.gone(w.Commands[pos])
		if i+1 < len(n.queue) {
			w.until[pos] = min(w.until[pos], sane(w.Commands[n.queue[i+1]].Arrived))
		}
	}
}

// gone is when the node that the command was handed to had certainly died: when
// it, or the replica in its place, is said to be up again.
func (w *wire) gone(c history.Command) time.Duration {
	down := false
	for _, op := range w.Ops {
		if op.Process != history.Nemesis {
			continue
		}
		if op.From != "" && op.From != c.Node && op.Node != c.Node {
			continue // of another shard
		}
		up := op.F == history.FNodeUp && op.Node == c.Node || op.F == history.FPromote && op.Node != c.Node
		switch {
		case up && op.Time > c.Arrived:
			return op.Time
		case op.F == history.FPromote:
			down = up // until it is promoted itself
		}
	}
	if down {
		return sane(c.Arrived)
	}
	return w.end
}

// blur marks the commands of different clients that touched one key at times
// that overlap: their order is anybody's guess.
func (w *wire) blur(n *node) {
	type latest struct {
		pos int
		hi  time.Duration
	}
	seen := map[string]latest{}
	for _, pos := range n.queue {
		at := w.ran(pos)
		o := readCommand(w.Commands[pos], w.scripts)
		if len(o.acts) == 0 {
			continue
		}
		for _, key := range o.keys {
			before, ok := seen[key]
			if ok && at.lo <= before.hi && w.Commands[pos].Client != w.Commands[before.pos].Client {
				n.blurred[pos], n.blurred[before.pos] = true, true
			}
			if !ok || at.hi >= before.hi {
				seen[key] = latest{pos, at.hi}
			}
		}
	}
}

func (w *wire) earliest(order []*node) *node {
	var first *node
	var at time.Duration
	for _, n := range order {
		if len(n.queue) == 0 {
			continue
		}
		if lo := w.ran(n.queue[0]).lo; first == nil || lo < at {
			first, at = n, lo
		}
	}
	return first
}

// ran bounds the command's execution.
func (w *wire) ran(pos int) when {
	c := w.Commands[pos]
	lo, hi := sane(cmp.Or(c.Arrived, c.Sent)), sane(cmp.Or(c.Served, c.Replied, w.until[pos], w.end))
	return when{lo, max(lo, hi)}
}
