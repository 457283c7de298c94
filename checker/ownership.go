package checker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/keyspace"
)

// ownership decides whether every command left the grants of other owners alone. A command
// violates this if it ended a grant that certainly still stood on that node, or changed the
// grant's TTL. It does not matter whether the command deleted the key, field or member of
// the grant or overwrote its value. Nobody's grant ends when a command raises a count,
// joins a queue, or removes an entry that only waited in a queue: see onlyWaited and
// passages.
//
// A grant counts if its acquire succeeded. It counts from the command that made it until
// its owner stops believing in it: until the owner's release, its claimed deadline, the
// notice of a loss, or its crash. So the leftover of a failed RedLock attempt belongs to
// nobody, and so does the key of a dead owner. The verdict is unknown if keys were not
// seen, if a hold rests on no key, or if grants cannot be told apart.
func ownership(ctx context.Context, f *Case) Verdict {
	rp := &trespasses{f.known()}
	if !rp.Touched() {
		return notApplicable(account.Fact{What: account.NoCommands})
	}
	var findings []Finding
	doubt := either(rp.blind(), rp.unsure, rp.unseenGrant())
	for s := range untilDone(ctx, rp.Strikes) {
		found, why := rp.trespass(s)
		findings = append(findings, found...)
		doubt = either(doubt, why)
	}
	slices.SortStableFunc(findings, byFrom)
	switch first, why := firstOf(findings); {
	case len(first) > 0:
		return Verdict{Result: Violated, Findings: first, Reasons: why}
	case doubt.What != "":
		return unknown(doubt)
	}
	return Verdict{Result: Held}
}

// trespasses finds commands that struck the grants of others.
type trespasses struct{ *premises }

// groundless finds a hold that rests on no grant in any key; it returns the zero Fact if there is
// none. It skips re-entries that sent no command while an earlier grant stood, and acquires that
// stillborn explains. If traceless is true, it considers only holds whose acquires changed no key
// that was seen.
func (rp *endings) groundless(traceless bool) account.Fact {
	for _, h := range rp.Holds {
		op, ok := rp.Invocation(h.Acquire)
		if !ok || len(rp.Of(op)) > 0 || !rp.sentSomething(op) && rp.entersAgain(h) || rp.restsOnNothing(op) || traceless && rp.changedSomething(op) {
			continue
		}
		return account.Fact{What: account.RestsOnNoKey, Clients: []int{h.Client}, At: h.From}
	}
	return account.Fact{}
}

// changedSomething reports whether a command of that operation changed any key.
func (rp *trial) changedSomething(op int) bool {
	return slices.ContainsFunc(rp.SentBy(op), func(pos int) bool { return len(rp.Effects[pos]) > 0 })
}

// unseenGrant finds a hold whose grant was not observed (see groundless), or was observed without
// its end; it returns the zero Fact if there is none.
func (rp *endings) unseenGrant() account.Fact {
	if why := rp.groundless(false); why.What != "" {
		return why
	}
	for _, h := range rp.Holds {
		op, ok := rp.Invocation(h.Acquire)
		if !ok {
			continue
		}
		for _, g := range rp.Of(op) {
			if g.End != nil && g.End.How == keyspace.Unclear && g.End.At.Lo < h.To {
				return account.Fact{What: account.EndUnseen, Key: g.Key, Nodes: []string{g.Node}, Clients: []int{g.Client}, At: g.At.Lo}
			}
		}
	}
	return account.Fact{}
}

// entersAgain reports whether an earlier grant of the same client still stood when the hold
// began.
func (rp *trial) entersAgain(h Hold) bool {
	return slices.ContainsFunc(rp.Grants, func(g *keyspace.Grant) bool {
		return g.Client == h.Client && g.Lock == h.Lock && g.At.Lo <= h.From && (g.End == nil || g.End.At.Hi >= h.From)
	})
}

// trespass judges one strike. It returns a finding for each standing grant of another owner that the
// strike ended or whose TTL it changed. doubt is a fact that makes the answer unknown.
func (rp *trespasses) trespass(s keyspace.Strike) (findings []Finding, doubt account.Fact) {
	who := rp.Commands[s.Cmd].Client
	mine := func(g *keyspace.Grant) bool { return g.Client == who && !g.Refused }
	if s.Kind == keyspace.Prolonging && (slices.ContainsFunc(s.On, mine) || rp.enters(s.Cmd, s.Key, true)) {
		return nil, account.Fact{} // the key also carries the sender's own grant
	}
	for _, g := range s.On {
		until := rp.grantedUntil(g)
		if g.Client == who || s.At.Lo >= until || rp.tookStale(s, g) || rp.sharesReading(s, g) || rp.is(g, exempt) {
			continue
		}
		if s.Kind == keyspace.Removal && rp.usurped(g, who, s.Seq) != nil {
			continue // the finding about the overwriting covers this removal
		}
		if rp.onlyWaited(s, g) || s.Kind == keyspace.Prolonging && rp.gaveFirst(g, s.Cmd) {
			continue
		}
		if _, indistinct := rp.indistinct(g); indistinct {
			continue // grants that cannot be told apart make the verdict unknown
		}
		if _, isAcquire := rp.Acquired(rp.Commands[s.Cmd].Op); isAcquire && s.Kind != keyspace.Prolonging && rp.Claims.TTL <= 0 {
			doubt = account.Fact{What: account.LapseUnsure, Clients: []int{g.Client, who}, Since: g.At.Lo, Command: rp.call(s.Cmd), At: s.At.Lo}
			continue
		}
		if s.At.Hi > until {
			doubt = account.Fact{What: account.OrderUnseen, Clients: []int{g.Client, who}, Key: g.Key, Since: g.At.Lo, Command: rp.call(s.Cmd), At: s.At.Lo}
			continue
		}
		findings = append(findings, rp.foreignStrike(s, g, until))
	}
	return findings, doubt
}

// tookStale reports whether the strike ended a grant that had lapsed by its node's clock:
// an acquire took the grant over, or a reaper removed it. In a lock without a recovery
// time, grants do not lapse.
func (rp *trespasses) tookStale(s keyspace.Strike, g *keyspace.Grant) bool {
	if s.Kind == keyspace.Prolonging {
		return false
	}
	_, isAcquire := rp.Acquired(rp.Commands[s.Cmd].Op)
	return isAcquire && rp.Claims.Recovery > 0 && rp.lapsedFor(g, s.Cmd, s.At.Lo) || rp.reaped(g, s.Cmd, s.At.Lo)
}

// reaped reports whether a reaper sent the command: the command belongs to no operation,
// and the grant had lapsed by its node's clock.
func (rp *ages) reaped(g *keyspace.Grant, cmd int, at time.Duration) bool {
	return rp.Commands[cmd].Op < 0 && rp.Claims.Recovery > 0 && rp.lapsedFor(g, cmd, at)
}

// sharesReading reports whether a reader's acquire struck another reader's grant without
// removing the grant. A lock with such acquires keeps one record for all readers. The strike is
// a race of the lock's protocol, and the oracle exclusion reports it.
func (rp *trespasses) sharesReading(s keyspace.Strike, g *keyspace.Grant) bool {
	p, isAcquire := rp.Acquired(rp.Commands[s.Cmd].Op)
	return isAcquire && s.Kind != keyspace.Removal && compatible(g.Mode, p.Invoke.Mode)
}

// grantedUntil returns the time at which the owner stopped believing in its grant; 0 if the
// owner never believed in it.
func (rp *trial) grantedUntil(l *keyspace.Grant) time.Duration {
	if h := rp.hold(l); h != nil {
		return h.To
	}
	return 0
}

// hold returns the hold of the grant's acquire; nil if the acquire made none.
func (rp *trial) hold(l *keyspace.Grant) *Hold {
	p, isAcquire := rp.Acquired(l.Op)
	if !isAcquire || p.Complete == nil {
		return nil
	}
	if i, ok := rp.HoldOf[p.Complete.Index]; ok {
		return &rp.Holds[i]
	}
	return nil
}

// foreignStrikeFacts maps the kind of a strike to the kind of fact that the finding reports.
var foreignStrikeFacts = map[keyspace.Kind]account.What{
	keyspace.Removal: account.ForeignRemoval, keyspace.Replacement: account.ForeignReplacement, keyspace.Prolonging: account.ForeignProlonging,
}

// foreignStrike returns the finding that the strike ended the grant l or changed its TTL. until is the time
// at which the owner stopped believing in l.
func (rp *trespasses) foreignStrike(s keyspace.Strike, l *keyspace.Grant, until time.Duration) Finding {
	c := rp.Commands[s.Cmd]
	f := Finding{
		Cause: ForeignDelete, Lock: l.Lock, Clients: []int{c.Client, l.Client}, From: s.At.Lo, To: max(s.At.Lo, within(rp.Evidence, until)),
		Commands: rp.indexOf(l.Cmd, s.Cmd), Ops: rp.entries(l.Op, c.Op),
	}
	if s.Kind == keyspace.Prolonging {
		f.Cause = ForeignRenewal
	}
	if _, isAcquire := rp.Acquired(c.Op); isAcquire && s.Kind == keyspace.Replacement {
		f.Cause = Race
		if rp.Claims.ClientClock {
			f.Cause = cmp.Or(rp.takenOver(l, s.Cmd).cause, Race)
		}
	}
	f.Account = account.Account{Fact: rp.deed(foreignStrikeFacts[s.Kind], c.Client, s.Cmd, s.At.Lo, l), Grants: rp.grants(l)}
	if p := rp.Operation(c.Op); rp.Has(c.Op) && !rp.openAt(c.Op, s.At.Lo) {
		f.Account.Late, f.Account.Read = true, p.Invoke.Time
	}
	f.Account.Broken = rp.broken(suspicion{f, l, []int{l.Cmd, s.Cmd}})
	return f
}

// entries returns the indices of the invocations and completions of these operations.
func (rp *trial) entries(ops ...int) []int {
	var all []int
	for _, op := range ops {
		if p := rp.Operation(op); rp.Has(op) {
			all = append(all, p.Invoke.Index)
			if p.Complete != nil {
				all = append(all, p.Complete.Index)
			}
		}
	}
	return indices(all...)
}
