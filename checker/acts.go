package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// command walks over one command.
func (w *wire) command(n *node, pos int) {
	c := w.Commands[pos]
	o := readCommand(c, w.scripts)
	at := w.ran(pos)
	n.keepScript(c, at)
	if n.blurred[pos] {
		o.sights = nil // of which state they tell, nobody knows
	}
	for i, key := range o.keys {
		if slices.Contains(o.keys[:i], key) {
			continue
		}
		k := n.keys[key]
		if k == nil {
			seen := sightOf(o, key)
			if len(o.acts) == 0 && !o.opaque && (seen == nil || !seen.present) {
				continue // nothing was ever seen of it
			}
			k = &keyState{}
			n.keys[key] = k
		}
		if o.opaque {
			w.blindfold(k, key, pos, at)
			continue
		}
		w.lapse(k, at, sightOf(o, key))
		if len(k.carriers) > 0 && len(k.maybe) == 0 && !(k.doubt != nil && unheard(c)) {
			w.meets = append(w.meets, meet{cmd: pos, at: at, seq: w.tick(), on: slices.Clone(k.carriers)})
		}
		if len(k.maybe) > 0 {
			w.hazes = append(w.hazes, meet{cmd: pos, at: at, seq: w.tick(), on: slices.Concat(k.carriers, k.maybe)})
		}
	}
	if o.opaque {
		return
	}
	w.presume(n, pos, o, at)
	for _, a := range o.acts {
		x := doing{n: n, k: n.keys[a.key], pos: pos, c: c, at: at, a: a, sure: !o.possible && !n.blurred[pos]}
		x.scripted = w.isScript(pos)
		x.owned = slices.ContainsFunc(o.acts, func(b act) bool { return b.key == a.key && b.kind == history.EffectSet })
		w.do(x)
	}
}

func sightOf(o outcome, key string) *sight {
	for i := range o.sights {
		if o.sights[i].key == key {
			return &o.sights[i]
		}
	}
	return nil
}

// blindfold: a command ran of which nobody can say what it did to the key.
func (w *wire) blindfold(k *keyState, key string, pos int, at when) {
	if _, ok := w.blind[key]; !ok {
		w.blind[key] = pos
	}
	w.finish(k, k.all(), ending{how: unclear, cmd: pos, event: -1, at: at})
	k.vague(keep(k.carriers, func(l *life) bool { return !l.sure })...)
	*k = keyState{opaque: true, maybe: k.maybe}
}

// lapse brings the key's state up to the beginning of a command at that time:
// it lets the key expire, and takes in what the command's reply told.
func (w *wire) lapse(k *keyState, at when, s *sight) {
	w.lapseFields(k, func(l *life) bool { return at.lo > l.due(k).hi })
	k.fade(at)
	if s != nil && !s.present {
		k.maybe = nil
	}
	if len(k.carriers)+len(k.shadows) == 0 {
		if s != nil && !(s.present && w.haunt(k, at, s)) {
			k.opaque = s.present // if so, what is there came unseen
		}
		return
	}
	over := k.ttl && at.lo > k.expiry.hi
	mayBeOver := k.ttl && at.hi >= k.expiry.lo
	switch {
	case over && (s == nil || !s.present):
		if k.doubt != nil && k.doubt.how == expired {
			w.clear(k, *k.doubt) // and did not live again
			return
		}
		w.clear(k, k.expires())
	case s == nil:
	case s.present && over && len(k.maybe) > 0: // what is there came unseen
		w.clear(k, k.expires())
		k.opaque = true
	case s.present && over: // our clock or the node's is off: it lives still
		k.expiry.hi = at.hi
	case s.present:
		w.confirm(k, at, s)
	case mayBeOver:
		w.clear(k, k.expires())
	case k.doubt != nil:
		w.clear(k, k.proven())
	default:
		w.clear(k, ending{how: lost, cmd: -1, event: -1, at: when{k.last(), at.hi}, sure: true})
	}
}

// confirm takes in that the key was there, and perhaps with which value.
func (w *wire) confirm(k *keyState, at when, s *sight) {
	if len(k.maybe) == 0 {
		k.doubt = nil
	}
	if k.lone() && !k.opaque && k.older == nil && k.ghosts == nil {
		k.carriers[0].sure = true // nothing else can stand there
	}
	if s.value == nil {
		return
	}
	same := slices.ContainsFunc(k.carriers, func(l *life) bool {
		return l.value == *s.value || slices.Contains(l.stamps, *s.value)
	})
	switch {
	case same:
		k.older = nil
		for _, l := range k.carriers {
			l.copied = false
		}
	case k.older != nil && !slices.ContainsFunc(k.carriers, func(l *life) bool { return len(l.stamps) == 0 }):
		g := k.ghosts
		w.clear(k, *k.older)
		k.ghosts = g
		k.opaque = !w.haunt(k, at, s) // what stands there was thought to be gone
	}
}

// proven is the doubtful ending of what is gone by now, and cannot be gone otherwise.
func (k *keyState) proven() ending {
	e := *k.doubt
	e.sure = len(k.maybe) == 0
	return e
}

// last is when the key was last known to be there.
func (k *keyState) last() (t time.Duration) {
	for _, l := range k.carriers {
		t = max(t, l.at.lo)
	}
	return t
}

// clear ends everything that the key carried.
func (w *wire) clear(k *keyState, e ending) {
	past := k.past
	if e.how == deleted && len(k.carriers) > 0 {
		past = append(past, k.carriers)
	}
	w.finish(k, k.all(), e)
	*k = keyState{past: past[max(0, len(past)-maxPast):], maybe: k.maybe}
}

func (w *wire) finish(k *keyState, lives []*life, e ending) {
	e.seq = w.tick()
	e.sure = e.sure && !k.opaque
	for _, l := range lives {
		if l.end == nil {
			end := e
			l.end = &end
		}
	}
}

// doing is one act on its way to a key.
type doing struct {
	n    *node
	k    *keyState
	pos  int
	c    history.Command
	at   when
	a    act
	sure bool
	// owned: the same command also sets the key.
	owned bool
	// scripted: a script did it, perhaps on a condition.
	scripted bool
}

func (w *wire) do(x doing) {
	switch x.a.kind {
	case history.EffectSet:
		w.set(x)
	case history.EffectDelete:
		w.remove(x)
	case history.EffectExpire:
		x.sure = x.sure || x.hadToWork()
		w.strike(x, x.k.carriers)
		w.term(x)
	case history.EffectPersist:
		x.a.ttl, x.a.sometime = 0, false
		w.term(x)
	}
}

// field names the field of a hash that an act concerns. A script's own field is
// the owner's, or in a read-write lock the one of its mode.
func (w *wire) field(x doing) string {
	if x.a.field != ownField {
		return x.a.field
	}
	if w.Claims.ReadWrite {
		return ownField + string(w.operation(x.c.Op).Invoke.Mode)
	}
	return ownField
}

func (w *wire) set(x doing) {
	field := w.field(x)
	x.sure = x.sure || x.foundNothing() || x.hadToWork()
	if !x.sure && x.a.ifAbsent && len(x.k.carriers) > 0 {
		w.vain[x.pos] = unheard(x.c) && x.there()
		w.unseenSet(x)
		return // it found the key there, for all that is known
	}
	l := w.claim(x, field)
	var kept []*life
	for _, old := range x.k.carriers {
		if !x.sure || old.field != field {
			kept = append(kept, old)
			continue
		}
		old.over, old.overSeq = l, l.seq
		x.k.shadows = append(x.k.shadows, old)
	}
	empty := len(x.k.carriers)+len(x.k.shadows) == 0
	if x.sure {
		x.k.ghosts = nil
	}
	x.k.carriers = append(kept, l)
	if x.sure && field == "" {
		x.k.opaque, x.k.doubt, x.k.maybe = false, nil, nil
	}
	w.bear(l)
	if l.own {
		l.terms = []term{ownTerm(x)}
	}
	switch {
	case l.own && !empty:
	case x.a.keep && !empty: // its life goes on as it was
		l.terms = append(l.terms, term{cmd: x.pos, client: x.c.Client, at: x.at, sure: x.sure, ttl: x.k.ttl, expiry: x.k.due(), fair: x.k.fair, moved: x.k.moved})
	default:
		w.term(x)
	}
}

// presume: a command granted a lock, without a word on keys of which it is not
// sure whether they were still there. Scripts look before they set, so the keys
// were not; only of a fellow reader's they do not mind.
func (w *wire) presume(n *node, pos int, o outcome, at when) {
	sets := func(a act) bool { return a.kind == history.EffectSet }
	if o.possible || n.blurred[pos] || !slices.ContainsFunc(o.acts, sets) {
		return
	}
	c := w.Commands[pos]
	mode := w.operation(c.Op).Invoke.Mode
	for _, key := range o.keys {
		k := n.keys[key]
		w.lapseFields(k, func(l *life) bool {
			return l.client != c.Client && !compatible(l.mode, mode) && at.hi >= l.due(k).lo
		})
		others := slices.ContainsFunc(k.carriers, func(l *life) bool {
			return l.client != c.Client && !compatible(l.mode, mode)
		})
		k.maybe = keep(k.maybe, func(l *life) bool { return l.client == c.Client || compatible(l.mode, mode) })
		switch {
		case !others || sightOf(o, key) != nil:
		case k.doubt != nil && !(k.ttl && at.hi >= k.expiry.lo):
			w.clear(k, k.proven())
		case k.doubt != nil:
			w.clear(k, *k.doubt)
		case k.ttl && at.hi >= k.expiry.lo:
			w.clear(k, k.expires())
		}
	}
}

// remove deletes the key, or a field of it.
func (w *wire) remove(x doing) {
	x.sure = x.sure || w.foundOwn(x)
	struck := x.k.carriers
	field := w.field(x)
	if field != "" {
		struck = slices.DeleteFunc(slices.Clone(x.k.carriers), func(l *life) bool { return !x.hits(l, field) })
	}
	w.strike(x, struck)
	end := ending{how: deleted, cmd: x.pos, event: -1, at: x.at, sure: x.sure}
	switch {
	case !x.sure:
		if len(struck) > 0 {
			x.k.doubt = &end
		}
	case field == "" || len(struck) == len(x.k.carriers):
		opaque := x.k.opaque && field != ""
		w.finish(x.k, x.k.maybe, end)
		end.sure = end.sure && len(x.k.maybe) == 0
		x.k.maybe = nil
		w.clear(x.k, end)
		x.k.opaque = opaque
	case len(struck) > 0:
		gone := func(l *life) bool { return slices.Contains(struck, l) }
		ofField := func(l *life) bool { return l.field == struck[0].field }
		w.finish(x.k, append(slices.Clone(struck), keep(x.k.shadows, ofField)...), end)
		x.k.carriers = slices.DeleteFunc(x.k.carriers, gone)
		x.k.shadows = slices.DeleteFunc(x.k.shadows, ofField)
	}
}

// hits says whether a deletion of a field concerns what l put there. A script
// that was handed the claim's own stamp deletes only what bears it.
func (x doing) hits(l *life, field string) bool {
	if x.a.field != ownField {
		return l.field == field || slices.Contains(l.stamps, field)
	}
	if l.field != field {
		return false
	}
	if len(l.stamps) == 0 || len(x.a.stamps) == 0 {
		return l.client == x.c.Client
	}
	return slices.ContainsFunc(l.stamps, func(s string) bool { return slices.Contains(x.a.stamps, s) })
}

func keep(lives []*life, is func(*life) bool) []*life {
	return slices.DeleteFunc(slices.Clone(lives), func(l *life) bool { return !is(l) })
}

// strike takes down what a DEL or EXPIRE hit.
func (w *wire) strike(x doing, on []*life) {
	blind := x.k.opaque || x.n.blurred[x.pos] || len(x.k.maybe) > 0
	if len(on) == 0 && !blind {
		return
	}
	w.strikes = append(w.strikes, strike{
		cmd: x.pos, kind: x.a.kind, key: x.a.key, at: x.at, on: slices.Clone(on),
		sure: x.sure && x.k.doubt == nil, owned: x.owned, blind: blind,
	})
}

// term gives the key a life, or none.
func (w *wire) term(x doing) {
	k := x.k
	ttl := x.a.ttl > 0 || x.a.sometime
	slack := expirySlack + x.a.ttl/1000
	expiry := when{x.at.lo + x.a.ttl - slack, x.at.hi + x.a.ttl + slack}
	if x.a.sometime {
		expiry = when{x.at.lo, lifetime}
	}
	fair, moved := expiry, time.Duration(0)
	switch {
	case x.sure || k.lone() && k.carriers[0].cmd == x.pos: // if it is there at all, this is its life
	case k.ttl && ttl: // the one life or the other
		expiry = when{min(expiry.lo, k.expiry.lo), max(expiry.hi, k.expiry.hi)}
		fair = when{min(fair.lo, k.fair.lo), max(fair.hi, k.fair.hi)}
		moved = k.moved
	default:
		ttl, expiry, fair = true, when{x.at.lo, lifetime}, when{x.at.lo, lifetime}
	}
	k.unsettle()
	k.ttl, k.expiry, k.fair, k.moved, k.jumped = ttl, expiry, fair, moved, 0
	for _, l := range k.all() {
		if !l.own {
			l.terms = append(l.terms, term{cmd: x.pos, client: x.c.Client, at: x.at, sure: x.sure, ttl: ttl, expiry: expiry, fair: fair, moved: moved})
		}
	}
}
