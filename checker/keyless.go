package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file explains grants that left no key, or whose key expired too soon. The client
// set the key's expiry as a time of its own wall clock, and the node's clock was ahead of
// that clock.

// gap returns how far the node's wall clock was ahead of the client's clock at that time. It also
// returns the cause, which names the clock that was further from true time.
func (rp *trial) gap(node string, client int, at time.Duration) (time.Duration, Cause) {
	n, c := rp.NodeClocks[node].Ahead(at), rp.Clocks[client].Ahead(at)
	if n.Abs() >= c.Abs() {
		return n - c, ServerClock
	}
	return n - c, ClientClock
}

// bornShort explains a TTL that was shorter than the lease by as much as the node's wall
// clock was ahead of the client's.
func (rp *endings) bornShort(first *keyspace.Grant, last keyspace.Term) (reason, bool) {
	lease := rp.Claims.TTL
	life, longest := last.Fair.Lo-last.At.Lo, last.Fair.Hi-last.At.Lo
	gap, cause := rp.gap(first.Node, last.Client, last.At.Lo)
	if gap <= 0 || last.Client != first.Client || longest >= lease-termSlack || life+gap < lease-lease/10 || life+gap > 2*lease {
		return reason{}, false
	}
	why := rp.deed(account.BornShort, first.Client, last.Cmd, last.At.Lo, first)
	why.Span, why.Age = gap, life
	return because(cause, []int{first.Cmd, last.Cmd}, why), true
}

// stillborn explains an acquire that succeeded but left no key: by the node's clock, the
// expiry that it set had already passed.
func (rp *endings) stillborn(op int) (reason, bool) {
	pos := rp.lastOf(op)
	if pos < 0 || len(rp.Of(op)) > 0 {
		return reason{}, false
	}
	c, at := rp.Commands[pos], rp.Ran(pos).Lo
	if len(c.Args) < 3 {
		return reason{}, false // a command with so few arguments sets no expiry
	}
	gap, cause := rp.gap(c.Node, c.Client, at)
	if gap < rp.Claims.TTL-rp.Claims.TTL/10 {
		return reason{}, false
	}
	r := because(cause, []int{pos}, account.Fact{
		What: account.Stillborn, Clients: []int{c.Client}, Nodes: []string{c.Node}, Command: rp.call(pos), At: at, Span: gap,
	})
	return r.of(keyspace.WouldBe(c.Node, c.Client, op, pos, keyspace.At(at))), true
}

// anyStillborn reports whether a client of the finding has an acquire that stillborn explains.
func (rp *endings) anyStillborn(f Finding) bool {
	return slices.ContainsFunc(f.Clients, func(client int) bool {
		op := rp.acquireIn(f, client, false)
		if op < 0 {
			return false
		}
		_, ok := rp.stillborn(op)
		return ok
	})
}

// lastOf returns the place of the operation's last command that ran; -1 if none ran.
func (rp *trial) lastOf(op int) int {
	last := -1
	for _, pos := range rp.SentBy(op) {
		if rp.Commands[pos].Exec > 0 && (last < 0 || rp.Ran(last).Lo <= rp.Ran(pos).Lo) {
			last = pos
		}
	}
	return last
}

// acquireIn returns the client's latest acquire that the finding is about; -1 if there is
// none. If granted is true, only acquires that made grants count.
func (rp *trial) acquireIn(f Finding, client int, granted bool) int {
	last := -1
	for _, i := range f.Ops {
		op, ok := rp.Invocation(i)
		if p, isAcquire := rp.Acquired(op); ok && isAcquire && p.Invoke.Client == client && (!granted || len(rp.Of(op)) > 0) {
			last = max(last, op)
		}
	}
	return last
}

// acquiresIn returns the acquires of the finding's first two clients in the order in which they ended.
func (rp *trial) acquiresIn(f Finding) (first, second int, ok bool) {
	first, second = rp.acquireIn(f, f.Clients[0], false), rp.acquireIn(f, f.Clients[1], false)
	if ok = first >= 0 && second >= 0; ok && rp.DoneAt(rp.Operation(first)) > rp.DoneAt(rp.Operation(second)) {
		first, second = second, first
	}
	return first, second, ok
}

// explainAbsence explains a finding about a lock that never put a key on any node. It explains
// nothing unless all keys were watched.
func (rp *endings) explainAbsence(f Finding) (reason, bool) {
	if len(rp.Holding(f.Lock)) > 0 || !rp.Evidence.Watched || len(rp.Unseen) > 0 || len(rp.Commands) == 0 && len(rp.Evidence.Keys) > 0 {
		return reason{}, false
	}
	for _, c := range rp.Commands {
		if c.Exec == 0 && c.Replied > 0 && rp.Has(c.Op) {
			return reason{}, false // the command's effects were not seen
		}
	}
	for pos, effects := range rp.Effects {
		if p, isAcquire := rp.Acquired(rp.Commands[pos].Op); len(effects) > 0 && isAcquire && p.Invoke.Lock == f.Lock {
			return reason{}, false // the lock did set keys, which are gone
		}
	}
	for _, m := range rp.Contacts {
		if p, isAcquire := rp.Acquired(rp.Commands[m.Cmd].Op); isAcquire && p.Invoke.Lock == f.Lock {
			return reason{}, false // the lock's acquires met keys, such as keys of other owners
		}
	}
	return because(NoKey, nil, account.Fact{What: account.NothingKept, Locks: []string{f.Lock}}), true
}

// explainKeyless returns the causes of a finding about two grants if one of them left no
// key.
func (rp *endings) explainKeyless(f Finding, grants map[int][]*keyspace.Grant) []reason {
	first, second, ok := rp.acquiresIn(f)
	if !ok {
		return nil
	}
	for _, op := range []int{second, first} {
		if pos, refused := rp.Refused[op]; refused {
			return []reason{because(FalseAnswer, []int{pos}, rp.refusal(pos)).of(rp.refusedGrant(pos))}
		}
	}
	if r, ok := rp.stillborn(first); ok {
		return []reason{r}
	}
	had := grants[rp.Operation(first).Invoke.Client]
	pos := rp.lastOf(second)
	if len(had) == 0 || pos < 0 {
		return nil
	}
	last := had[len(had)-1]
	if last.End == nil || last.End.At.Lo > rp.Ran(pos).Hi {
		return nil
	}
	return known([]reason{rp.letIn(last, nil).of(last)})
}

// refusal returns the fact that Redis had refused the command by which an acquire succeeded.
func (rp *trial) refusal(pos int) account.Fact {
	c := rp.Commands[pos]
	return account.Fact{What: account.HeldRefused, Clients: []int{c.Client}, Nodes: []string{c.Node}, Command: rp.call(pos), At: rp.Ran(pos).Lo}
}

// refusedGrant returns the grant that such a command did not make.
func (rp *trial) refusedGrant(pos int) *keyspace.Grant {
	return keyspace.WouldBe(rp.Commands[pos].Node, rp.Commands[pos].Client, rp.Commands[pos].Op, pos, rp.Ran(pos))
}

// explainCrowd returns the causes of a finding about one owner more than there are permits: how the
// grants of the other owners ended. If none of these grants had ended, the causes say why the owner was
// let in while they stood.
func (rp *endings) explainCrowd(f Finding) []reason {
	b := rp.party(f, f.Clients[0])
	var ended, beside []reason
	for _, client := range f.Clients[1:] {
		a := rp.party(f, client)
		pairs := meeting(a, b)
		if len(pairs) == 0 && len(a) > 0 && len(b) > 0 {
			ended = append(ended, rp.onDifferentNodes(a, b).of(a[0]))
		}
		for _, pair := range pairs {
			x, y := pair[0], pair[1]
			if x.Seq > y.Seq {
				x, y = y, x
			}
			if r := rp.letIn(x, y).of(x); x.End != nil && x.End.Seq < y.Seq {
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

func (rp *trial) sentSomething(op int) bool { return op >= 0 && rp.lastOf(op) >= 0 }

// restsOnNothing reports whether a successful acquire left no key for a known reason: Redis refused the
// acquire, or its key was stillborn. No command can have ended such a grant.
func (rp *endings) restsOnNothing(op int) bool {
	_, refused := rp.Refused[op]
	_, ok := rp.stillborn(op)
	return refused || ok && rp.Operation(op).Done() == history.OK
}
