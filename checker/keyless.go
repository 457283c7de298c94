package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file explains grants that left no key, or whose key expired too soon. The client
// set the key's expiry as a time of its own wall clock, and the node's clock was ahead of
// that clock.

// gap returns how far the node's wall clock was ahead of the client's at that time, and
// the cause: the clock that was further from the truth.
func (w *wire) gap(node string, client int, at time.Duration) (time.Duration, Cause) {
	n, c := w.nodeAhead(node, at), w.aheadAt(client, at)
	if n.Abs() >= c.Abs() {
		return n - c, ServerClock
	}
	return n - c, ClientClock
}

// bornShort explains a TTL that was shorter than the lease by as much as the node's wall
// clock was ahead of the client's.
func (w *wire) bornShort(first *keyspace.Grant, last keyspace.Term) (reason, bool) {
	lease := w.Claims.TTL
	life, longest := last.Fair.Lo-last.At.Lo, last.Fair.Hi-last.At.Lo
	gap, cause := w.gap(first.Node, last.Client, last.At.Lo)
	if gap <= 0 || last.Client != first.Client || longest >= lease-termSlack || life+gap < lease-lease/10 || life+gap > 2*lease {
		return reason{}, false
	}
	why := w.deed(bornShort, first.Client, last.Cmd, last.At.Lo, first)
	why.Span, why.Age = gap, life
	return because(cause, []int{first.Cmd, last.Cmd}, why), true
}

// stillborn explains an acquire that succeeded but left no key: by the node's clock, the
// expiry that it set had already passed.
func (w *wire) stillborn(op int) (reason, bool) {
	pos := w.lastOf(op)
	if pos < 0 || len(w.Of(op)) > 0 {
		return reason{}, false
	}
	c, at := w.Commands[pos], w.Ran(pos).Lo
	if len(c.Args) < 3 {
		return reason{}, false // it can have given no key an expiry
	}
	gap, cause := w.gap(c.Node, c.Client, at)
	if gap < w.Claims.TTL-w.Claims.TTL/10 {
		return reason{}, false
	}
	r := because(cause, []int{pos}, Fact{
		What: stillborn, Clients: []int{c.Client}, Nodes: []string{c.Node}, Command: w.call(pos), At: at, Span: gap,
	})
	return r.of(wouldBe(c, op, pos, keyspace.At(at))), true
}

// anyStillborn reports whether a client of the finding has an acquire that stillborn explains.
func (w *wire) anyStillborn(f Finding) bool {
	return slices.ContainsFunc(f.Clients, func(client int) bool {
		op := w.acquireIn(f, client)
		if op < 0 {
			return false
		}
		_, ok := w.stillborn(op)
		return ok
	})
}

func wouldBe(c history.Command, op, pos int, at keyspace.When) *keyspace.Grant {
	return keyspace.WouldBe(c.Node, c.Client, op, pos, at)
}

// lastOf returns the place of the last command of that operation that ran; -1 for none.
func (w *wire) lastOf(op int) int {
	if w.lastRan == nil {
		w.lastRan = map[int]int{}
		for pos, c := range w.Commands {
			if last, known := w.lastRan[c.Op]; c.Exec > 0 && (!known || w.Ran(last).Lo <= w.Ran(pos).Lo) {
				w.lastRan[c.Op] = pos
			}
		}
	}
	if last, ran := w.lastRan[op]; ran {
		return last
	}
	return -1
}

// acquireIn returns the client's latest acquire that the finding is about; -1 if there is
// none.
func (w *wire) acquireIn(f Finding, client int) int {
	last := -1
	for _, i := range f.Ops {
		op, ok := w.invocation(i)
		if p, isAcquire := w.acquired(op); ok && isAcquire && p.Invoke.Client == client {
			last = max(last, op)
		}
	}
	return last
}

// explainAbsence explains a finding about a lock that no node ever had a key of: its clients
// agreed on nothing. Unless all keys were seen, nothing is known.
func (w *wire) explainAbsence(f Finding) (reason, bool) {
	if len(w.Holding(f.Lock)) > 0 || !w.Evidence.Watched || len(w.Unseen) > 0 || len(w.Commands) == 0 && len(w.Evidence.Keys) > 0 {
		return reason{}, false
	}
	for _, c := range w.Commands {
		if c.Exec == 0 && c.Replied > 0 && w.has(c.Op) {
			return reason{}, false // what it did was not seen
		}
	}
	for pos, effects := range w.Effects {
		if p, isAcquire := w.acquired(w.Commands[pos].Op); len(effects) > 0 && isAcquire && p.Invoke.Lock == f.Lock {
			return reason{}, false // its keys were gone at once
		}
	}
	for _, m := range w.Contacts {
		if p, isAcquire := w.acquired(w.Commands[m.Cmd].Op); isAcquire && p.Invoke.Lock == f.Lock {
			return reason{}, false // it goes by keys of somebody else
		}
	}
	return because(NoKey, nil, Fact{What: nothingKept, Locks: []string{f.Lock}}), true
}

// explainKeyless returns the causes of a finding about two grants if one of them left no
// key.
func (w *wire) explainKeyless(f Finding, grants map[int][]*keyspace.Grant) []reason {
	first, second := w.acquireIn(f, f.Clients[0]), w.acquireIn(f, f.Clients[1])
	if first < 0 || second < 0 {
		return nil
	}
	if w.doneAt(w.operation(first)) > w.doneAt(w.operation(second)) {
		first, second = second, first
	}
	if r, ok := w.stillborn(first); ok {
		return []reason{r}
	}
	had := grants[w.operation(first).Invoke.Client]
	pos := w.lastOf(second)
	if len(had) == 0 || pos < 0 {
		return nil
	}
	last := had[len(had)-1]
	if last.End == nil || last.End.At.Lo > w.Ran(pos).Hi {
		return nil
	}
	return known([]reason{w.letIn(last, nil).of(last)})
}

// explainCrowd returns the causes of a finding about one owner too many: how the other
// owners' grants ended, or else that the owner was let in while they still stood.
func (w *wire) explainCrowd(f Finding) []reason {
	b := w.party(f, f.Clients[0])
	var ended, beside []reason
	for _, client := range f.Clients[1:] {
		a := w.party(f, client)
		pairs := meeting(a, b)
		if len(pairs) == 0 && len(a) > 0 && len(b) > 0 {
			ended = append(ended, w.onDifferentNodes(a, b).of(a[0]))
		}
		for _, pair := range pairs {
			x, y := pair[0], pair[1]
			if x.Seq > y.Seq {
				x, y = y, x
			}
			if r := w.letIn(x, y).of(x); x.End != nil && x.End.Seq < y.Seq {
				ended = append(ended, r)
			} else {
				beside = append(beside, r)
			}
		}
	}
	if len(ended) > 0 {
		return known(ended)
	}
	return known(beside)
}

func (w *wire) sentSomething(op int) bool { return op >= 0 && w.lastOf(op) >= 0 }

// restsOnNothing reports whether a successful acquire left no key for the known reason
// that stillborn finds. No command can have ended such a grant.
func (w *wire) restsOnNothing(op int) bool {
	_, ok := w.stillborn(op)
	return ok && w.operation(op).Done() == history.OK
}
