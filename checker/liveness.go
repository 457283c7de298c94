package checker

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// liveness decides whether waiting clients get in. Five things violate it:
//
//   - blocked for ever: the post-mortem shows a key that kept a living client out to the end.
//     The key has no TTL and no living owner, or a client keeps renewing it that has no hold
//     or never comes back from its work under it;
//
//   - blocked up to TTL: a key with a TTL kept others out until it expired, and no living
//     client believed in it (its owner crashed, never learnt of its grant, or failed to
//     release);
//
//   - overdue: the TTL of a key is longer than the recovery time that the recipe claims;
//
//   - starvation: a living client never got the lock in sufficient time, although others
//     got it meanwhile and no key was left behind;
//
//   - left free: a living client never got the lock in sufficient time, although no key of it
//     stood anywhere and Redis answered what the client asked.
//
// The verdict is unknown in three cases: a client got in late and no key explains it; nobody
// got in, no key was in the way, and not all was seen or answered; the run ended before it
// healed. Late means later than the recovery time plus a turn for every client, counted from
// the last of these events: the healing of the last fault, the last crash, the last arrival of
// a command of a dead client. A client that hangs in its work may keep others out for as long again
// after its last command.
//
// A recipe with a quorum promises nothing while a majority is unreachable. A wait before
// the healing counts only if keys, and not the network, blocked the client.
func liveness(ctx context.Context, f *Case) Verdict {
	if f.Claims.TTL <= 0 {
		return notApplicable(account.Fact{What: account.NoLease})
	}
	rp, err := f.replay()
	if err != nil {
		return impossible(err)
	}
	return rp.blocked(ctx)
}

// blocked is liveness on evidence that was read.
func (rp *replay) blocked(ctx context.Context) Verdict {
	findings := rp.orphans()
	if ctx.Err() != nil {
		return outOfTime(ctx.Err())
	}
	stuck, doubt := rp.afterHealing(findings)
	all := len(findings) + len(stuck)
	stuck = stuck[:min(len(stuck), maxFindings)]
	findings = append(findings, stuck...)
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.From, b.From) })
	switch {
	case len(findings) > maxFindings:
		// The findings of keys that block for ever come last, and must be kept.
		kept := slices.Clone(findings[:maxFindings-len(stuck)])
		kept = slices.DeleteFunc(kept, func(f Finding) bool { return f.Forever })
		return Verdict{Result: Violated, Findings: append(kept, stuck...),
			Reasons: []account.Fact{{What: account.SomeListed, Count: len(kept) + len(stuck), Of: all}}}
	case len(findings) < all:
		return Verdict{Result: Violated, Findings: findings, Reasons: []account.Fact{{What: account.SomeListed, Count: len(findings), Of: all}}}
	case len(findings) > 0:
		return Verdict{Result: Violated, Findings: findings, Reasons: saying(doubt)}
	case doubt.What != "":
		return unknown(doubt)
	}
	// A key that was not observed may have blocked clients. If commands were seen but none
	// named a key, there is no such key: the lock does not live in Redis keys.
	why := rp.blind()
	if elsewhere := len(rp.Commands) > 0 && !rp.Touched(); !elsewhere {
		why = either(why, rp.groundless(true))
	}
	if why.What != "" {
		return unknown(why)
	}
	return Verdict{Result: Held}
}

// wait is the time for which one living client waited for one lock after the healing.
type wait struct {
	client      int
	lock        string
	mode        history.Mode
	from, until time.Duration // from the first attempt to the grant or the end of the last attempt
	in          bool
	ops         []int // invocations of its attempts
}

// afterHealing judges the liveness phase. An orphan finding that covers a late client
// explains its wait.
func (rp *replay) afterHealing(orphans []Finding) (findings []Finding, doubt account.Fact) {
	if op, broke := brokeDown(rp.Ops); broke {
		return nil, account.Fact{What: account.EndedByCode, At: op.Time, Text: op.F}
	}
	healed, ok := rp.healedAt()
	if !ok {
		return nil, account.Fact{What: account.NeverHealed}
	}
	start := max(healed, rp.lastOfTheDead())
	turn := rp.Claims.Recovery + rp.margin(healed)
	bound := start + turn
	patient := max(bound, rp.lastOfTheHung()+turn)
	byLock := map[string][]wait{}
	var locks []string
	for _, x := range rp.waits(healed) {
		late := x.in && x.until > max(patient, x.from+turn)
		if x.in && !late {
			continue
		}
		if x.in && slices.ContainsFunc(orphans, func(f Finding) bool { return f.Lock == x.lock && f.To >= x.from }) {
			continue
		}
		if x.in {
			doubt = account.Fact{What: account.LetInLate, Clients: []int{x.client}, Locks: []string{x.lock}, At: x.until, Until: bound}
			continue
		}
		if byLock[x.lock] == nil {
			locks = append(locks, x.lock)
		}
		byLock[x.lock] = append(byLock[x.lock], x)
	}
	slices.Sort(locks)
	for _, lock := range locks {
		found, why := rp.stuck(lock, byLock[lock], start, bound)
		findings = append(findings, found...)
		doubt = either(why, doubt)
	}
	return findings, doubt
}

func (rp *replay) healedAt() (time.Duration, bool) {
	for _, op := range slices.Backward(rp.Ops) {
		if op.Event(history.FHealed) {
			return op.Time, true
		}
	}
	return 0, false
}

// lastOfTheDead returns the time of the last crash, or of the last arrival of a dead
// client's command if that came later.
func (rp *replay) lastOfTheDead() time.Duration {
	last := time.Duration(0)
	for _, at := range rp.Crashes {
		last = max(last, at)
	}
	for _, c := range rp.Commands {
		if at, dead := rp.Crashes[c.Client]; dead && c.Arrived > at {
			last = max(last, keyspace.Clip(c.Arrived))
		}
	}
	return last
}

// lastOfTheHung returns the time of the last arrival of a command of a client that hangs in
// its work: until then, its watchdog may have kept its lease. 0 if there is none.
func (rp *replay) lastOfTheHung() time.Duration {
	last := time.Duration(0)
	for _, c := range rp.Commands {
		if rp.Hangs(c.Client) && c.Arrived > rp.Hung[c.Client] {
			last = max(last, keyspace.Clip(c.Arrived))
		}
	}
	return last
}

// margin returns the time that one turn of every client takes: the number of clients times
// the sum of the longest hold, the longest gap between two attempts and the longest round
// trip in the history.
func (rp *replay) margin(healed time.Duration) time.Duration {
	var hold, retry, trip time.Duration
	clients := map[int]bool{}
	for _, h := range rp.Holds {
		clients[h.Client] = true
		if h.ToWhy == account.ByRelease {
			hold = max(hold, h.To-h.From)
		}
	}
	last := map[evidence.ClientLock]time.Duration{}
	for _, op := range rp.Ops {
		if op.F != history.FAcquire || op.Process == history.Nemesis {
			continue
		}
		clients[op.Client] = true
		at := evidence.ClientLock{Client: op.Client, Lock: op.Lock}
		if before, ok := last[at]; ok && op.Type == history.Invoke {
			retry = max(retry, op.Time-before)
		}
		delete(last, at)
		if op.Type == history.Fail || op.Type == history.Info {
			last[at] = op.Time
		}
	}
	for _, c := range rp.Commands {
		if c.Sent >= healed && c.Replied > 0 {
			trip = max(trip, keyspace.Clip(c.Replied)-keyspace.Clip(c.Sent))
		}
	}
	return min(time.Duration(len(clients))*(hold+retry+trip), keyspace.Lifetime)
}

// waits lists the waits of living clients after the healing. All attempts of one client
// for one lock belong to one wait, even in different modes.
func (rp *replay) waits(healed time.Duration) []wait {
	byWho := map[evidence.Owner]*wait{}
	var order []evidence.Owner
	for _, op := range rp.Ops {
		invoked, mine := rp.Invocation(op.Index)
		p, ok := rp.Acquired(invoked)
		_, dead := rp.Crashes[op.Client]
		if !mine || !ok || dead || rp.DoneAt(p) < healed || op.Index != p.Invoke.Index {
			continue
		}
		at := evidence.Owner{Client: op.Client, Lock: op.Lock}
		x := byWho[at]
		if x == nil {
			x = &wait{client: op.Client, lock: op.Lock, from: max(op.Time, healed)}
			byWho[at] = x
			order = append(order, at)
		}
		if x.in {
			continue
		}
		x.mode = op.Mode
		x.ops = append(x.ops, op.Index)
		x.until = min(rp.DoneAt(p), rp.End)
		x.in = p.Done() == history.OK
	}
	var all []wait
	for _, at := range order {
		all = append(all, *byWho[at])
	}
	return all
}

// crossSlot returns, for each waiting client, its last command that a cluster refused
// because its keys are in different slots. ok is false if any of their attempts had no
// such refusal.
func (rp *replay) crossSlot(waits []wait) (cmds []int, ok bool) {
	refused := map[int]int{} // by operation: the refused command
	for pos, c := range rp.Commands {
		if strings.HasPrefix(string(c.Reply), crossSlot+" ") {
			refused[c.Op] = pos
		}
	}
	for _, x := range waits {
		for _, op := range x.ops {
			if _, was := refused[op]; !was {
				return nil, false
			}
		}
		cmds = append(cmds, refused[x.ops[len(x.ops)-1]])
	}
	return cmds, true
}

// round describes how a lock went to others while some clients waited in vain.
type round struct {
	grants       int // grants to other clients
	free, lasted time.Duration
}

// wentRound reports whether the lock was granted to others while all of these clients
// waited long enough to get in.
func (rp *replay) wentRound(waits []wait, bound time.Duration) (r round, ok bool) {
	from, until := time.Duration(0), Never
	for _, x := range waits {
		from, until = max(from, x.from), min(until, x.until)
	}
	if until < bound || from >= until {
		return round{}, false
	}
	var held []evidence.Interval
	for _, h := range rp.Holds {
		if h.Lock == waits[0].lock && h.From < until && h.To > from {
			held = append(held, evidence.Interval{From: max(h.From, from), To: min(h.To, until)})
			if h.From > from {
				r.grants++
			}
		}
	}
	r.lasted = (until - from).Round(time.Millisecond)
	for _, s := range evidence.Subtract([]evidence.Interval{{From: from, To: until}}, evidence.Merged(held)) {
		r.free += s.To - s.From
	}
	r.free = r.free.Round(time.Millisecond)
	return r, r.grants > 0
}

// stuck explains why clients never got into a lock, from the post-mortem.
func (rp *replay) stuck(lock string, waits []wait, start, bound time.Duration) (findings []Finding, doubt account.Fact) {
	var waiting []int
	for _, x := range waits {
		waiting = append(waiting, x.client)
	}
	left := rp.leftovers(lock, start, waiting)
	f := Finding{Lock: lock, From: start, To: rp.End}
	for _, x := range waits {
		f.Clients = append(f.Clients, x.client)
		f.From = max(f.From, x.from)
		f.Ops = append(f.Ops, rp.entries(x.ops[len(x.ops)-1])...)
		for _, h := range rp.Holds {
			if h.Lock == lock && h.Client != x.client && h.To > x.until && !compatible(h.Mode, x.mode) && left.at < h.To && !rp.Hangs(h.Client) {
				return nil, account.Fact{What: account.StillBelieved, Clients: []int{x.client, h.Client}, Locks: []string{lock}}
			}
		}
	}
	slices.Sort(f.Clients)
	f.Clients = slices.Compact(f.Clients)
	f.Ops = indices(f.Ops...)
	told := account.Fact{What: account.Blocked, Clients: f.Clients, At: f.From}
	doubt = account.Fact{Clients: f.Clients, Locks: []string{lock}, At: left.at}
	if cmds, ok := rp.crossSlot(waits); ok {
		c := rp.Commands[cmds[0]]
		f.Cause, f.Forever, f.Commands = CrossSlot, true, rp.indexOf(cmds...)
		told.What, told.Nodes, told.Command = account.RefusedForSlots, []string{c.Node}, rp.call(cmds[0])
		f.Account.Fact = told
		return []Finding{f}, account.Fact{}
	}
	if !left.blocks {
		if round, ok := rp.wentRound(waits, bound); ok {
			f.Cause = Starved
			told.What, told.Count, told.Age, told.Span = account.PassedOver, round.grants, round.free, round.lasted
			f.Account.Fact = told
			return []Finding{f}, account.Fact{}
		}
		if free, ok := rp.untaken(f, waits, bound-start); ok {
			return []Finding{free}, account.Fact{}
		}
		doubt.What, doubt.Since = account.Unexplained, start
		return nil, doubt
	}
	if left.young {
		doubt.What = account.KeyYoung
		return nil, doubt
	}
	f.Cause, f.Forever, f.atAnyPace, f.Commands = left.cause, left.forever, left.atAnyPace, rp.indexOf(left.cmds...)
	if !left.forever && left.at < bound {
		doubt.What, doubt.Until = account.NotLongEnough, bound
		return nil, doubt
	}
	f.Account = account.Account{Fact: told, Reasons: left.why, Grants: rp.grants(left.first)}
	f.Account.Broken = rp.broken(suspicion{f, left.first, left.cmds})
	return []Finding{f}, account.Fact{}
}
