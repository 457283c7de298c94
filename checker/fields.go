package checker

import (
	"slices"
	"time"
)

// This file is about the fields of a hash that live for a time of their own,
// which the recipe's scripts look at: such a field is no claim any more when its
// time is over, though the key lives on.

// ownTerm is the only term of a field with a life of its own.
func ownTerm(x doing) term {
	slack := expirySlack + x.a.own/1000
	expiry := when{x.at.lo + x.a.own - slack, x.at.hi + x.a.own + slack}
	return term{cmd: x.pos, client: x.c.Client, at: x.at, sure: x.sure, ttl: true, expiry: expiry, fair: expiry}
}

// due is when such a field's life ends, not before its node's clock jumped last;
// never, if it lives as its key does.
func (l *life) due(k *keyState) when {
	if !l.own {
		return when{lifetime, lifetime}
	}
	end := l.terms[0].expiry
	return when{max(end.lo, k.jumped), max(end.hi, k.jumped)}
}

// lapseFields ends those of the key's fields whose own time is over.
func (w *wire) lapseFields(k *keyState, over func(*life) bool) {
	ended := false
	for _, l := range k.all() {
		if l.own && l.end == nil && over(l) {
			w.finish(k, []*life{l}, ending{how: expired, cmd: -1, event: -1, at: l.due(k), sure: true})
			ended = true
		}
	}
	if !ended {
		return
	}
	gone := func(l *life) bool { return l.end != nil }
	k.carriers, k.shadows = slices.DeleteFunc(k.carriers, gone), slices.DeleteFunc(k.shadows, gone)
}

// shiftFields moves the ends of such fields when their node's clock jumps. What
// was overdue before stays so.
func (w *wire) shiftFields(k *keyState, by, at time.Duration) {
	w.lapseFields(k, func(l *life) bool { return at > l.due(k).hi })
	for _, l := range k.all() {
		if !l.own {
			continue
		}
		t := &l.terms[0]
		t.expiry = when{bounded(t.expiry.lo - by), bounded(t.expiry.hi - by)}
		t.moved = bounded(t.moved - by)
		t.most = max(t.most, t.moved)
		k.jumped = at
	}
}
