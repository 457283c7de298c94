package checker

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file finds keys that no client needs to attend to: keys that a release left on purpose, and
// entries of clients that wait for a lock. Such an entry is, for example, a place in a queue, or a
// mark by which a waiting writer keeps new readers out.

// rests reports whether the grant's release left the key there on purpose, and the key still stands for
// that reason at the given time. A lock does this if it must not be taken again too soon (ShedLock's
// lockAtLeastFor). The key then belongs to nobody, and keeps others out until it expires, if it has a TTL.
// rests is true if:
//
//   - The release succeeded.
//   - The key's expiry at that time was set or removed by the release. If set, it is not certainly later
//     than every earlier expiry, or there was none. A key that keeps its earlier expiry was not released,
//     whatever its value.
//   - No acquire of this client that was refused, or whose outcome is unknown, has a grant standing in
//     this place. Such a grant may be all that is left of the key.
//   - The release did not lower a count in this place to a number above zero. Such a release gives back
//     only its own share.
func (rp *places) rests(g *keyspace.Grant, at time.Duration) bool {
	pos, ok := rp.lastByRelease(g, at)
	if !ok {
		return false
	}
	t := g.TermAt(at)
	if t.Cmd < 0 || rp.Commands[t.Cmd].Op != rp.Commands[pos].Op || t.Mortal && longer(g, t) {
		return false
	}
	return !slices.ContainsFunc(rp.Grants, func(o *keyspace.Grant) bool {
		p, isAcquire := rp.Acquired(o.Op)
		return isAcquire && o.Client == g.Client && o.Node == g.Node && o.Key == g.Key && o.Place == g.Place &&
			p.Done() != history.OK && (o.End == nil || o.End.At.Lo > at)
	})
}

// longer reports whether the term t certainly ends later than every earlier term of the grant that
// has a TTL. It returns false if there is no such earlier term.
func longer(g *keyspace.Grant, t *keyspace.Term) bool {
	earlier, later := false, true
	for _, before := range g.Terms() {
		if before == t {
			break
		}
		if before.Mortal {
			earlier, later = true, later && before.Expiry.Hi < t.Expiry.Lo
		}
	}
	return earlier && later
}

// lastByRelease returns the place of the last command of the grant's release that ran by the given time and
// changed the key without deleting it. ok is false if there is no such command, if the release did not
// succeed, or if the release lowered a count to a number above zero.
func (rp *places) lastByRelease(g *keyspace.Grant, at time.Duration) (last int, ok bool) {
	release := g.Op
	if h := rp.hold(g); h != nil && h.ToWhy == account.ByRelease {
		release, _ = rp.Invocation(h.End)
	}
	p := rp.Operation(release)
	if p.Invoke.F != history.FRelease || p.Done() != history.OK || release == g.Op && !rp.putBack(g) {
		return -1, false
	}
	last = -1
	for _, pos := range rp.SentBy(release) {
		if rp.Commands[pos].Node != g.Node || rp.Ran(pos).Lo > at {
			continue
		}
		for _, i := range rp.Effects[pos] {
			switch k := rp.Evidence.Keys[i]; {
			case string(k.Key) != g.Key || k.After == nil:
			case lowered(k, g.Place):
				return -1, false
			default:
				last = pos
			}
		}
	}
	return last, last >= 0
}

// lowered reports whether the change lowered a count in that place, but not to zero.
func lowered(k history.KeyChange, place string) bool {
	was, errA := strconv.ParseInt(valueAt(k.Before, place), 10, 64)
	is, errB := strconv.ParseInt(valueAt(k.After, place), 10, 64)
	return errA == nil && errB == nil && 0 < is && is < was
}

// putBack reports whether the grant, which a release made, stands in a place that the same
// release had emptied.
func (rp *places) putBack(g *keyspace.Grant) bool {
	return slices.ContainsFunc(rp.Grants, func(o *keyspace.Grant) bool {
		return o.Client == g.Client && o.Node == g.Node && o.Key == g.Key && o.Place == g.Place && rp.endedIn(o, g.Op)
	})
}

// usurped returns a grant that shows that the client took over g's key, no later than seq; nil if there is
// none, or if g is the client's own. The returned grant is another grant of g's acquire, in another place of
// the same key, which a successful acquire of the client overwrote. A client that takes over a key with
// several places, such as a hash, may leave some places unchanged, and later remove the whole key as its own.
func (rp *trial) usurped(g *keyspace.Grant, client, seq int) *keyspace.Grant {
	for _, part := range rp.Of(g.Op) {
		if part.NodeKey() != g.NodeKey() || part.Place == g.Place || part.Over == nil || part.Over.Client != client || part.OverSeq > seq {
			continue
		}
		if p, isAcquire := rp.Acquired(part.Over.Op); isAcquire && p.Done() == history.OK && client != g.Client {
			return part
		}
	}
	return nil
}

// waitsFor reports whether the grant is the entry of a client that waited for the lock at
// that time. An entry stands in a key that carries nothing but entries: see waitingKeys.
func (rp *places) waitsFor(g *keyspace.Grant, at keyspace.When) bool {
	p, isAcquire := rp.Acquired(g.Op)
	if !isAcquire || p.Done() == history.OK || !rp.is(g, waiting) {
		return false
	}
	for _, t := range []time.Duration{at.Lo, at.Hi} {
		if !rp.asks(evidence.Owner{Client: g.Client, Lock: g.Lock, Mode: p.Invoke.Mode}, t) {
			return false
		}
	}
	return true
}

// asks reports whether the client was alive and asked for the lock at t: see findAttempts.
func (rp *places) asks(o evidence.Owner, t time.Duration) bool {
	return t < rp.CrashOf(o.Client) && slices.ContainsFunc(rp.attempts[o], func(s evidence.Interval) bool { return s.From <= t && t <= s.To })
}

// findAttempts returns the intervals in which an owner asked for the lock: an attempt was open, or the
// attempt before had not succeeded, and the next one followed within the lease time.
func (rp *places) findAttempts() map[evidence.Owner][]evidence.Interval {
	attempts := map[evidence.Owner][]evidence.Interval{}
	refused := map[evidence.Owner]bool{} // the owner's last attempt did not succeed
	for i := range rp.Pairing.All {
		p := &rp.Pairing.All[i]
		if p.Invoke.Process == history.Nemesis || p.Invoke.F != history.FAcquire {
			continue
		}
		at := evidence.Owner{Client: p.Invoke.Client, Lock: p.Invoke.Lock, Mode: p.Invoke.Mode}
		s := evidence.Interval{From: p.Invoke.Time, To: rp.DoneAt(p)}
		all := attempts[at]
		if last := len(all) - 1; last >= 0 && refused[at] && s.From-all[last].To <= rp.Claims.TTL {
			all[last].To = s.To
		} else {
			attempts[at] = append(all, s)
		}
		refused[at] = p.Done() != history.OK
	}
	return attempts
}

// waitingKeys returns the keys that hold nothing but entries of waiting clients. Such a key meets two
// conditions:
//
//   - Only refused attempts left anything in it. Entries that another client removed while their acquire
//     still waited do not count.
//   - Each attempt that was refused there met another client's entry: see selfRefused.
func (rp *places) waitingKeys() map[string]bool {
	keys := map[string]bool{}
	barred, waited := rp.selfRefused(), rp.waitedInVain()
	for _, g := range rp.Grants {
		switch p, isAcquire := rp.Acquired(g.Op); {
		case waited[g] || rp.is(g, passage) && isAcquire && p.Done() == history.OK:
		case g.Handed || isAcquire && p.Done() == history.OK && !g.Rested && !rp.endedIn(g, g.Op):
			barred[g.Key] = true
		case isAcquire && p.Done() == history.Fail:
			keys[g.Key] = true
		}
	}
	maps.DeleteFunc(keys, func(key string, _ bool) bool { return barred[key] })
	return keys
}

// endedIn reports whether a command of the operation op ended the grant.
func (rp *trial) endedIn(g *keyspace.Grant, op int) bool {
	return g.End != nil && g.End.Cmd >= 0 && rp.Commands[g.End.Cmd].Op == op
}

// selfRefused returns the keys of the grants that refused attempts met, if an attempt met only grants of its
// own client.
func (rp *places) selfRefused() map[string]bool {
	keys := map[string]bool{}
	metOthers := map[int]bool{} // by refused attempt
	for _, m := range rp.Contacts {
		if p, isAcquire := rp.Acquired(rp.Commands[m.Cmd].Op); isAcquire && p.Done() == history.Fail {
			others := slices.ContainsFunc(m.On, func(g *keyspace.Grant) bool { return g.Client != p.Invoke.Client })
			metOthers[p.Invoke.Index] = metOthers[p.Invoke.Index] || others
		}
	}
	for _, m := range rp.Contacts {
		if others, refused := metOthers[rp.Commands[m.Cmd].Op]; refused && !others {
			keys[m.On[0].Key] = true
		}
	}
	return keys
}
