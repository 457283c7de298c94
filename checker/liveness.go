package checker

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// liveness decides whether waiting clients get the lock. There are six kinds of violations:
//
//   - blocked for ever: the post-mortem shows a key that kept a living client out to the end.
//     Either the key has no TTL and no living owner, or a client keeps renewing it although the
//     client has no hold or never returns from its work;
//
//   - blocked up to TTL: a key with a TTL kept others out until it expired, and no living
//     client believed that it held the lock: the key's owner crashed, never learnt of its grant, or
//     failed to release;
//
//   - overdue: the TTL of a key is longer than the recovery time that the recipe claims;
//
//   - starvation: a living client never got the lock in sufficient time, although other clients
//     got it in that time and no key was left behind;
//
//   - left free: a living client never got the lock in sufficient time, although no node had a
//     key of the lock and Redis answered the client's commands;
//
//   - refused for slots: a Redis Cluster refused every attempt of a living client after the healing,
//     because the keys of its commands are in different slots.
//
// The verdict is unknown if the evidence decides nothing. Examples:
//
//   - A client got in late, and no key explains this.
//   - A client never got in, no key was in the way, and some key or reply was not seen.
//   - The run ended before its faults were healed.
//
// Late means later than the recovery time plus a turn for every client, counted from the latest of
// these events: the last fault is healed, a client crashes, a command of a dead client arrives, the
// wait begins. A client that hangs in its work may keep others out for the same time after its last
// command.
//
// A recipe with a quorum promises nothing while a majority is unreachable. So a wait before
// the healing counts only if keys, and not the network, blocked the client.
func liveness(_ context.Context, f *Case) Verdict {
	if f.Claims.TTL <= 0 {
		return notApplicable(account.Fact{What: account.NoLease})
	}
	rp := &blockages{orphanage{f.known()}}
	findings := rp.orphans()
	stuck, doubt := rp.afterHealing(findings)
	all := len(findings) + len(stuck)
	findings = listed(findings, stuck)
	switch {
	case len(findings) < all:
		return Verdict{Result: Violated, Findings: findings, Reasons: []account.Fact{{What: account.SomeListed, Count: len(findings), Of: all}}}
	case len(findings) > 0:
		return Verdict{Result: Violated, Findings: findings, Reasons: saying(doubt)}
	case doubt.What != "":
		return unknown(doubt)
	}
	// A key that was not observed may have blocked clients. But if commands were seen and
	// none of them named a key, there is no such key: the lock is not kept in Redis keys.
	why := rp.blind()
	if elsewhere := len(rp.Commands) > 0 && !rp.Touched(); !elsewhere {
		why = either(why, rp.groundless(true))
	}
	if why.What != "" {
		return unknown(why)
	}
	return Verdict{Result: Held}
}

// blockages finds the clients that got in late, or never.
type blockages struct{ orphanage }

// listed returns up to maxFindings of the findings, in order of From. It leaves out the latest findings
// about orphans first: a client that never got in matters more. It reorders orphans.
func listed(orphans, stuck []Finding) []Finding {
	slices.SortStableFunc(orphans, byFrom)
	stuck = stuck[:min(len(stuck), maxFindings)]
	all := slices.Concat(orphans[:min(len(orphans), maxFindings-len(stuck))], stuck)
	slices.SortStableFunc(all, byFrom)
	return all
}

// wait is one living client's wait for one lock after the healing.
type wait struct {
	client int
	lock   string
	mode   history.Mode
	// from is the first attempt or, if that is later, the healing. until is the grant or the end of the
	// last attempt.
	from, until time.Duration
	in          bool  // the wait ended with a grant
	ops         []int // invocations of its attempts
}

// afterHealing judges the liveness phase. If a client got in late, and one of the findings in orphans
// covers its wait, the orphan explains the wait.
func (rp *blockages) afterHealing(orphans []Finding) (findings []Finding, doubt account.Fact) {
	if op, broke := brokeDown(rp.Ops); broke {
		return nil, account.Fact{What: account.EndedByCode, At: op.Time, Text: op.F}
	}
	healed, ok := rp.healedAt()
	if !ok {
		return nil, account.Fact{What: account.NeverHealed}
	}
	start := max(healed, rp.lastArrival(rp.Crashes))
	for _, crash := range rp.Crashes {
		start = max(start, crash)
	}
	turn := rp.Claims.Recovery + rp.margin(healed)
	bound := start + turn
	patient := max(bound, rp.lastArrival(rp.Hung)+turn) // the watchdog of a client that hangs may have kept the lease until then
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

// healedAt returns the time at which the last fault was healed; false if the run ended before.
func (rp *blockages) healedAt() (time.Duration, bool) {
	for _, op := range slices.Backward(rp.Ops) {
		if op.Event(history.FHealed) {
			return op.Time, true
		}
	}
	return 0, false
}

// lastArrival returns the latest arrival of a command from a client after the client's time in since; 0 if there
// is none.
func (rp *blockages) lastArrival(since map[int]time.Duration) (last time.Duration) {
	for _, c := range rp.Commands {
		if at, ok := since[c.Client]; ok && c.Arrived > at {
			last = max(last, keyspace.Clip(c.Arrived))
		}
	}
	return last
}

// margin returns the time that one turn of every client takes. This is the number of clients times
// the sum of three times in the history: the longest hold that a release ended, the longest gap
// between two attempts, and the longest round trip after the healing.
func (rp *blockages) margin(healed time.Duration) time.Duration {
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

// waits lists the waits of living clients after the healing. All attempts of one client at
// one lock form one wait, even if their modes differ.
func (rp *blockages) waits(healed time.Duration) []wait {
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

// crossSlot returns, for each waiting client, its last command that a Cluster refused
// because the command's keys are in different slots. ok is false if any attempt was not
// refused like this.
func (rp *blockages) crossSlot(waits []wait) (cmds []int, ok bool) {
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

// round describes how often a lock went to other clients while some clients waited in vain.
type round struct {
	grants       int           // grants to other clients
	free, lasted time.Duration // how long the lock was free during the wait, and how long the wait lasted
}

// wentRound reports whether the lock was granted to other clients during the time in which all
// clients in waits waited. It returns false if this time ends before bound.
func (rp *blockages) wentRound(waits []wait, bound time.Duration) (r round, ok bool) {
	from, until := together(waits)
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

// lastError returns the first line of the error with which the clients' last attempt ended; "" if it ended otherwise.
func (rp *blockages) lastError(waits []wait) string {
	var last *history.Op
	for _, x := range waits {
		if done := rp.Operation(x.ops[len(x.ops)-1]).Complete; done != nil && (last == nil || done.Time > last.Time) {
			last = done
		}
	}
	if last == nil {
		return ""
	}
	line, _, _ := strings.Cut(last.Error, "\n")
	return line
}

// stuck explains from the post-mortem why clients never got a lock.
func (rp *blockages) stuck(lock string, waits []wait, start, bound time.Duration) (findings []Finding, doubt account.Fact) {
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
	fact := account.Fact{What: account.Blocked, Clients: f.Clients, At: f.From}
	doubt = account.Fact{Clients: f.Clients, Locks: []string{lock}, At: left.at}
	if cmds, ok := rp.crossSlot(waits); ok {
		c := rp.Commands[cmds[0]]
		f.Cause, f.Forever, f.Commands = CrossSlot, true, rp.indexOf(cmds...)
		fact.What, fact.Nodes, fact.Command = account.RefusedForSlots, []string{c.Node}, rp.call(cmds[0])
		f.Account.Fact = fact
		return []Finding{f}, account.Fact{}
	}
	if !left.blocks {
		if round, ok := rp.wentRound(waits, bound); ok {
			f.Cause = Starved
			fact.What, fact.Count, fact.Age, fact.Span = account.PassedOver, round.grants, round.free, round.lasted
			f.Account.Fact = fact
			if round.free > rp.Claims.Recovery && rp.silent(f, waits) {
				f.Cause, f.Account.Reasons = LeftFree, []account.Fact{{What: account.NothingAsked, Clients: f.Clients}}
			}
			return []Finding{f}, account.Fact{}
		}
		if free, ok := rp.untaken(f, waits, bound-start); ok {
			return []Finding{free}, account.Fact{}
		}
		doubt.What, doubt.Since, doubt.Text = account.Unexplained, start, rp.lastError(waits)
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
	f.Account = account.Account{Fact: fact, Reasons: left.why, Grants: rp.grants(left.first)}
	f.Account.Broken = rp.broken(suspicion{f, left.first, left.cmds})
	return []Finding{f}, account.Fact{}
}
