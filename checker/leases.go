package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// This file tells the causes that are about time: leases that clients' clocks
// ended, keys that expired, renewals that did not come.

// takenOver: in a lock that clients' clocks decide, the command at that place
// put an end to the first's claim, because its sender took it for stale.
//
// It is a race if the sender had not looked at this claim but at an older one.
// If it had, somebody's clock was wrong, or the first's reading of it was old
// when it arrived, unless the lease had really been overrun.
func (w *wire) takenOver(first *life, pos int) reason {
	c := w.Commands[pos]
	at := w.ran(pos)
	cmds := []int{first.cmd, pos}
	if seen, cmd, ok := w.lookedAt(pos, first.key); ok && !first.wrote(seen) {
		return because(Race, append(cmds, cmd), "c%d judged by what it had read at %s, before c%d's grant at %s, and its %s at %s ended that grant instead",
			c.Client, seconds(w.ran(cmd).lo), first.client, seconds(first.at.lo), w.name(pos), seconds(at.lo))
	}
	lease := w.Claims.TTL
	limit := max(w.Claims.Recovery, lease)
	slack := lease / 10
	lasted := at.lo - first.at.hi
	asked := first.at.lo
	if p := w.operation(first.op); w.has(first.op) {
		asked = p.Invoke.Time
	}
	stale := first.at.lo - asked
	skew := w.aheadAt(c.Client, at.lo) - w.aheadAt(first.client, asked)
	switch {
	case lasted >= limit-slack:
	case skew != 0:
		return because(ClientClock, cmds, "c%d's wall clock was %v ahead of c%d's, so that its %s at %s took over a lease that was only %v old",
			c.Client, skew, first.client, w.name(pos), seconds(at.lo), lasted.Round(time.Millisecond))
	case lasted < lease-slack && lasted+stale >= lease, lasted >= lease-slack && lasted+stale >= limit && stale > slack:
		return because(ClientClock, cmds, "c%d's time was up to %v old when it was written at %s, so that c%d's %s at %s took over a lease that was only %v old",
			first.client, stale.Round(time.Millisecond), seconds(first.at.lo), c.Client, w.name(pos), seconds(at.lo), lasted.Round(time.Millisecond))
	case lasted < lease-slack:
		return because(Race, cmds, "c%d's %s at %s was granted although c%d's claim of %s stood there and was young enough",
			c.Client, w.name(pos), seconds(at.lo), first.client, seconds(first.at.lo))
	}
	return because(LeaseOutlived, cmds, "c%d took over at %s what c%d had held since %s, longer than its lease",
		c.Client, seconds(at.lo), first.client, seconds(first.at.lo))
}

// lookedAt is the value of the key that the sender of the command at that place
// had read last, in the same operation.
func (w *wire) lookedAt(pos int, key string) (value string, cmd int, ok bool) {
	op := w.Commands[pos].Op
	for i := pos; i >= 0 && op >= 0; i-- {
		c := w.Commands[i]
		if c.Client != w.Commands[pos].Client || c.Node != w.Commands[pos].Node {
			continue
		}
		if c.Op != op {
			break
		}
		for _, s := range readCommand(c, w.scripts).sights {
			if s.key == key && s.value != nil && (i < pos || value == "") {
				return *s.value, i, true
			}
		}
	}
	return "", -1, false
}

// wrote says whether the value is the claim's own, or that of one that
// overwrote it without being granted the lock.
func (l *life) wrote(value string) bool {
	for n := 0; l != nil && n < 1000; l, n = l.over, n+1 {
		if l.value == value || slices.Contains(l.stamps, value) {
			return true
		}
	}
	return false
}

// expiredUnder: the key's life ended while its owner believed.
func (w *wire) expiredUnder(first, second *life) reason {
	last := first.terms[len(first.terms)-1]
	cmds := []int{first.cmd, last.cmd}
	granted := first.end.at.hi
	if second != nil {
		granted = second.at.hi
	}
	owner := w.operation(first.op)
	if !last.sure {
		return untold
	}
	// A clock that was a little ahead is seen by where the key ended: that the grant
	// came before its fair end may be within the doubt about that.
	if cut := last.moved != 0 && first.end.at.hi < last.fair.lo; last.fair.lo > granted || cut && last.fair.hi > granted {
		return because(ServerClock, cmds, "%s's wall clock had jumped, so that %s expired at %s instead of %s",
			first.node, first.key, seconds(first.end.at.mid()), seconds(last.fair.mid()))
	}
	if r, ok := w.elsewhere(first, granted); ok {
		return r
	}
	if last.client != first.client && slices.ContainsFunc(first.terms, func(t term) bool {
		return t.client == first.client && (!t.ttl || t.fair.lo > granted)
	}) {
		return because(ForeignRenewal, cmds, "c%d's %s at %s had cut the life of %s short, which was c%d's",
			last.client, w.name(last.cmd), seconds(last.at.lo), first.key, first.client)
	}
	if leaseOf(owner).Deadline != 0 && w.steppedIn(first.client, owner.Invoke.Time, granted) {
		return because(ClientClock, cmds, "c%d's wall clock changed while it held the lock, so that its deadline came after %s had expired at %s",
			first.client, first.key, seconds(first.end.at.mid()))
	}
	if w.Claims.Renews {
		if pos, ok := w.foreclosed(first, last); ok {
			return because(ServerClock, append(cmds, pos), "%s's wall clock had jumped, so that %s expired at %s, before c%d's %s of %s could prolong it",
				first.node, first.key, seconds(first.end.at.mid()), first.client, w.name(pos), seconds(w.Commands[pos].Sent))
		}
		if r, failed := w.unrenewed(first, last); failed {
			return r
		}
	}
	return because(LeaseOutlived, cmds, "c%d's %s had expired at %s, %v after it was given its life",
		first.client, first.key, seconds(first.end.at.mid()), (first.end.at.mid() - last.at.lo).Round(time.Millisecond))
}

// elsewhere tells of a key that expired on one of two primaries while it lived
// on, renewed or released there, on the other.
func (w *wire) elsewhere(first *life, granted time.Duration) (reason, bool) {
	for _, l := range w.byOp[first.op] {
		p := w.parted(first.node, l.node, first.end.seq)
		if p == nil || l.key != first.key || l.field != first.field || l.end != nil && l.end.at.lo <= granted {
			continue
		}
		last := l.terms[len(l.terms)-1]
		return because(ServerLostKey, []int{first.cmd, last.cmd},
			"%s and %s both served as primaries since %s, and %s, which c%d prolonged on %s, expired on %s at %s",
			p.old, p.heir, seconds(p.since), first.key, last.client, l.node, first.node, seconds(first.end.at.mid())), true
	}
	return reason{}, false
}

// foreclosed finds the owner's renewal that came too late only because the
// node's clock had jumped: the key would have been there.
func (w *wire) foreclosed(first *life, last term) (int, bool) {
	if last.moved >= 0 {
		return 0, false
	}
	for _, pos := range w.renewals() {
		c, at := w.Commands[pos], w.ran(pos)
		if c.Client == first.client && first.wasOn(c.Node) && c.Ran() && at.lo >= first.end.at.lo && at.hi < last.fair.lo && w.renews(c, first) {
			return pos, true
		}
	}
	return 0, false
}

// unrenewed tells how the watchdog failed the owner. It did not if the owner
// heard of its grant too late, or was itself frozen when a renewal was due.
func (w *wire) unrenewed(first *life, last term) (reason, bool) {
	due := first.end.at
	if h := w.hold(first); h == nil || h.From >= due.lo {
		return reason{}, false
	}
	cmds := []int{first.cmd, last.cmd}
	var tardy []int
	for _, pos := range w.renewals() {
		c := w.Commands[pos]
		if c.Client != first.client || !first.wasOn(c.Node) || c.Op == first.op ||
			c.Sent < w.Commands[last.cmd].Sent || c.Sent > due.hi || !w.renews(c, first) {
			continue
		}
		switch {
		case c.Arrived == 0 && c.Exec == 0 && c.Replied == 0 && !w.unobserved():
			return because(RenewalFailed, append(cmds, pos), "c%d's %s, sent at %s, never reached %s, and %s expired at %s",
				first.client, w.name(pos), seconds(c.Sent), first.node, first.key, seconds(due.mid())), true
		case c.Arrived > due.lo || c.Replied > due.lo:
			tardy = append(tardy, pos)
		case c.Replied == 0:
			return because(RenewalFailed, append(cmds, pos), "c%d never got the reply to its %s of %s, no other renewal came in time, and %s expired at %s",
				first.client, w.name(pos), seconds(c.Sent), first.key, seconds(due.mid())), true
		case len(readCommand(c, w.scripts).acts) == 0:
			return because(RenewalFailed, append(cmds, pos), "c%d's %s of %s was answered %q at %s, and %s expired at %s",
				first.client, w.name(pos), seconds(c.Sent), string(c.Reply), seconds(c.Replied), first.key, seconds(due.mid())), true
		}
	}
	switch {
	case w.frozen(first.client, last.at.hi, due.lo):
		return reason{}, false
	case len(tardy) > 0:
		return because(RenewalFailed, append(cmds, tardy...), "c%d's %s of %s was answered too late: %s had expired at %s",
			first.client, w.name(tardy[0]), seconds(w.Commands[tardy[0]].Sent), first.key, seconds(due.mid())), true
	}
	return because(RenewalFailed, cmds, "c%d sent no renewal after %s in time, and %s expired at %s",
		first.client, seconds(last.at.lo), first.key, seconds(due.mid())), true
}

// renewals are the places of the commands that do nothing but prolong a key's
// life, whether or not they arrived.
func (w *wire) renewals() []int {
	if w.renewing != nil {
		return w.renewing
	}
	w.renewing = []int{}
	for pos, c := range w.Commands {
		if len(c.Args) < 2 {
			continue
		}
		switch strings.ToUpper(string(c.Args[0])) {
		case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		case "EVAL", "EVALSHA":
			if !prolongsOnly(w.scripts[digestOf(string(c.Args[0]), string(c.Args[1]))]) {
				continue
			}
		default:
			continue
		}
		w.renewing = append(w.renewing, pos)
	}
	return w.renewing
}

// renews says whether a renewal is one of this claim: of its key, and if it
// names an owner or a token, of that.
func (w *wire) renews(c history.Command, l *life) bool {
	names := func(s string) bool { return slices.Contains(c.Args, history.Bytes(s)) }
	name := strings.ToUpper(string(c.Args[0]))
	return names(l.key) && (!strings.HasPrefix(name, "EVAL") || len(l.stamps) == 0 || slices.ContainsFunc(l.stamps, names))
}

func prolongsOnly(s history.Script) bool {
	any := false
	for _, effects := range s.Effects {
		for _, e := range effects {
			if e.Kind != history.EffectExpire {
				return false
			}
			any = true
		}
	}
	return any
}

// frozen says whether the client stood still under a fault of its own from
// before a renewal of a lease given at since was due until the lease's end: the
// nemesis had a window open on it then, and within that window it recorded
// nothing and sent nothing.
func (w *wire) frozen(client int, since, end time.Duration) bool {
	for _, win := range w.windows {
		from, to := win.Invoke.Time, Never
		if win.Complete != nil {
			to = win.Complete.Time
		}
		if win.Invoke.Client != client || from >= end || to < end || to <= since {
			continue
		}
		inside := func(t time.Duration) bool { return from < t && t < to }
		moved := slices.ContainsFunc(w.Ops, func(op history.Op) bool {
			return op.Process != history.Nemesis && op.Client == client && inside(op.Time)
		}) || slices.ContainsFunc(w.Commands, func(c history.Command) bool {
			return c.Client == client && inside(c.Sent)
		})
		if !moved {
			return true
		}
	}
	return false
}
