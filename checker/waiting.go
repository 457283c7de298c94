package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file finds the entries of clients that wait for a lock, such as their places in a
// queue, or a mark by which a waiting writer keeps new readers out.

// request is what one client asks for.
type request struct {
	client int
	lock   string
	mode   history.Mode
}

// waitsFor reports whether the grant is the entry of a client that waited for the lock at
// that time. An entry stands in a key that carries nothing but entries: see waitingKeys.
func (w *wire) waitsFor(g *keyspace.Grant, at keyspace.When) bool {
	p, isAcquire := w.acquired(g.Op)
	if !isAcquire || p.Done() == history.OK || !w.waitingKeys()[g.Key] {
		return false
	}
	for _, t := range []time.Duration{at.Lo, at.Hi} {
		if !w.asks(request{g.Client, g.Lock, p.Invoke.Mode}, t) {
			return false
		}
	}
	return true
}

// asks reports whether the client was alive and asked for the lock at t: an attempt was open,
// or the client had been refused and asked again within the lease time.
func (w *wire) asks(r request, t time.Duration) bool {
	if w.asking == nil {
		w.asking = map[request][]spell{}
		refused := map[request]bool{} // its last attempt was
		for i := range w.pairing.all {
			p := &w.pairing.all[i]
			if p.Invoke.Process == history.Nemesis || p.Invoke.F != history.FAcquire {
				continue
			}
			at := request{p.Invoke.Client, p.Invoke.Lock, p.Invoke.Mode}
			s := spell{p.Invoke.Time, w.doneAt(p)}
			all := w.asking[at]
			if last := len(all) - 1; last >= 0 && refused[at] && s.from-all[last].to <= w.Claims.TTL {
				all[last].to = s.to
			} else {
				w.asking[at] = append(all, s)
			}
			refused[at] = p.Done() != history.OK
		}
	}
	if t >= w.crashOf(r.client) {
		return false
	}
	return slices.ContainsFunc(w.asking[r], func(s spell) bool { return s.from <= t && t <= s.to })
}

// waitingKeys returns the keys in which only refused attempts left anything, and by which no
// client was refused that found nothing but its own entries.
func (w *wire) waitingKeys() map[string]bool {
	if w.waiting != nil {
		return w.waiting
	}
	w.waiting = map[string]bool{}
	barred := map[string]bool{}
	for _, g := range w.Grants {
		switch p, isAcquire := w.acquired(g.Op); {
		case g.Handed || isAcquire && p.Done() == history.OK && !g.Rested && !w.leftAtOnce(g):
			barred[g.Key] = true
		case isAcquire && p.Done() == history.Fail:
			w.waiting[g.Key] = true
		}
	}
	for _, key := range w.selfRefused() {
		barred[key] = true
	}
	for key := range barred {
		delete(w.waiting, key)
	}
	return w.waiting
}

// leftAtOnce reports whether the acquire of the grant ended the grant itself.
func (w *wire) leftAtOnce(g *keyspace.Grant) bool {
	return g.End != nil && g.End.Cmd >= 0 && w.Commands[g.End.Cmd].Op == g.Op
}

// selfRefused returns the keys that a refused attempt met if it met nothing but its own
// client's grants.
func (w *wire) selfRefused() (keys []string) {
	met := map[int][]keyspace.Contact{}
	for _, m := range w.Contacts {
		op := w.Commands[m.Cmd].Op
		if p, isAcquire := w.acquired(op); isAcquire && p.Done() == history.Fail {
			met[op] = append(met[op], m)
		}
	}
	for op, contacts := range met {
		client := w.operation(op).Invoke.Client
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
