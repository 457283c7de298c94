package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file finds the entries of clients that wait for a lock, such as their places in a
// queue, or a mark by which a waiting writer keeps new readers out.

// waitsFor reports whether the grant is the entry of a client that waited for the lock at
// that time. An entry stands in a key that carries nothing but entries: see waitingKeys.
func (rp *replay) waitsFor(g *keyspace.Grant, at keyspace.When) bool {
	p, isAcquire := rp.acquired(g.Op)
	if !isAcquire || p.Done() == history.OK || !rp.waitingKeys()[g.Key] {
		return false
	}
	for _, t := range []time.Duration{at.Lo, at.Hi} {
		if !rp.asks(owner{g.Client, g.Lock, p.Invoke.Mode}, t) {
			return false
		}
	}
	return true
}

// asks reports whether the client was alive and asked for the lock at t: an attempt was open,
// or the client had been refused and asked again within the lease time.
func (rp *replay) asks(o owner, t time.Duration) bool {
	if rp.asking == nil {
		rp.asking = map[owner][]interval{}
		refused := map[owner]bool{} // its last attempt was
		for i := range rp.pairing.all {
			p := &rp.pairing.all[i]
			if p.Invoke.Process == history.Nemesis || p.Invoke.F != history.FAcquire {
				continue
			}
			at := owner{p.Invoke.Client, p.Invoke.Lock, p.Invoke.Mode}
			s := interval{p.Invoke.Time, rp.doneAt(p)}
			all := rp.asking[at]
			if last := len(all) - 1; last >= 0 && refused[at] && s.from-all[last].to <= rp.Claims.TTL {
				all[last].to = s.to
			} else {
				rp.asking[at] = append(all, s)
			}
			refused[at] = p.Done() != history.OK
		}
	}
	if t >= rp.crashOf(o.client) {
		return false
	}
	return slices.ContainsFunc(rp.asking[o], func(s interval) bool { return s.from <= t && t <= s.to })
}

// waitingKeys returns the keys in which only refused attempts left anything, and by which no
// client was refused that found nothing but its own entries.
func (rp *replay) waitingKeys() map[string]bool {
	if rp.waiting != nil {
		return rp.waiting
	}
	rp.waiting = map[string]bool{}
	barred := map[string]bool{}
	for _, g := range rp.Grants {
		switch p, isAcquire := rp.acquired(g.Op); {
		case g.Handed || isAcquire && p.Done() == history.OK && !g.Rested && !rp.leftAtOnce(g):
			barred[g.Key] = true
		case isAcquire && p.Done() == history.Fail:
			rp.waiting[g.Key] = true
		}
	}
	for _, key := range rp.selfRefused() {
		barred[key] = true
	}
	for key := range barred {
		delete(rp.waiting, key)
	}
	return rp.waiting
}

// leftAtOnce reports whether the acquire of the grant ended the grant itself.
func (rp *replay) leftAtOnce(g *keyspace.Grant) bool {
	return g.End != nil && g.End.Cmd >= 0 && rp.Commands[g.End.Cmd].Op == g.Op
}

// selfRefused returns the keys that a refused attempt met if it met nothing but its own
// client's grants.
func (rp *replay) selfRefused() (keys []string) {
	met := map[int][]keyspace.Contact{}
	for _, m := range rp.Contacts {
		op := rp.Commands[m.Cmd].Op
		if p, isAcquire := rp.acquired(op); isAcquire && p.Done() == history.Fail {
			met[op] = append(met[op], m)
		}
	}
	for op, contacts := range met {
		client := rp.operation(op).Invoke.Client
		others := slices.ContainsFunc(contacts, func(m keyspace.Contact) bool {
			return slices.ContainsFunc(m.On, func(g *keyspace.Grant) bool { return g.Client != client })
		})
		if others {
			continue
		}
		for _, m := range contacts {
			keys = append(keys, m.On[0].Key)
		}
	}
	return keys
}
