package keyspace

import (
	"iter"
	"slices"
	"sort"
	"time"
)

// A sequel is a list of values or terms that the grants of one key or place share. Each
// grant owns the part of the list from the time it joined to the time it left. Without
// sequels, n increments of a count would need n grants with up to n values and terms each.
type sequel[T comparable] struct {
	entries []T
	shared  bool
	at      map[T][]int // the positions of each entry, in order; nil if not indexed
}

func (s *sequel[T]) add(v T) {
	if s.at != nil {
		s.at[v] = append(s.at[v], len(s.entries))
	}
	s.entries = append(s.entries, v)
}

// stretch is a run of successive entries of a sequel.
type stretch[T comparable] struct {
	of       *sequel[T]
	from, to int // to is open while the stretch still grows
}

const open = -1

func (s stretch[T]) until() int {
	if s.to == open {
		return len(s.of.entries)
	}
	return s.to
}

// trail is the list of values or terms of one grant, made of stretches of sequels. Only the
// last stretch may be open. The zero trail is empty.
type trail[T comparable] struct{ parts []stretch[T] }

func (t *trail[T]) last() *stretch[T] {
	if len(t.parts) == 0 {
		return nil
	}
	return &t.parts[len(t.parts)-1]
}

// follow makes the trail grow with the sequel from now on.
func (t *trail[T]) follow(s *sequel[T]) {
	t.parts = append(t.parts, stretch[T]{of: s, from: len(s.entries), to: open})
}

// leave stops following the sequel that the trail follows, if any, and returns it.
func (t *trail[T]) leave() (followed *sequel[T]) {
	if s := t.last(); s != nil && s.to == open {
		s.to, followed = len(s.of.entries), s.of
	}
	return followed
}

// add adds an entry to this trail only.
func (t *trail[T]) add(v T) {
	followed := t.leave()
	if s := t.last(); s != nil && !s.of.shared && s.to == len(s.of.entries) {
		s.of.add(v)
		s.to++
	} else {
		t.parts = append(t.parts, stretch[T]{of: &sequel[T]{entries: []T{v}}, to: 1})
	}
	if followed != nil {
		t.follow(followed)
	}
}

func (t *trail[T]) len() (n int) {
	for _, s := range t.parts {
		n += s.until() - s.from
	}
	return n
}

// get returns the entry at position i. The caller must not change it.
func (t *trail[T]) get(i int) *T {
	for _, s := range t.parts {
		n := s.until() - s.from
		if i < n {
			return &s.of.entries[s.from+i]
		}
		i -= n
	}
	return nil
}

// first returns a trail of the first n entries; it follows no sequel.
func (t *trail[T]) first(n int) (head trail[T]) {
	for _, s := range t.parts {
		if s.to = min(s.until(), s.from+n); s.to > s.from {
			head.parts = append(head.parts, s)
			n -= s.to - s.from
		}
	}
	return head
}

// amend changes the last entry in this trail only.
func (t *trail[T]) amend(change func(*T)) {
	n := t.len() - 1
	v := *t.get(n)
	change(&v)
	followed := t.leave()
	*t = t.first(n)
	t.add(v)
	if followed != nil {
		t.follow(followed)
	}
}

func (t *trail[T]) has(v T) bool {
	return slices.ContainsFunc(t.parts, func(s stretch[T]) bool {
		if s.of.at == nil {
			return slices.Contains(s.of.entries[s.from:s.until()], v)
		}
		all := s.of.at[v]
		i, _ := slices.BinarySearch(all, s.from)
		return i < len(all) && all[i] < s.until()
	})
}

// Wrote reports whether the grant ever had the value.
func (g *Grant) Wrote(value string) bool { return g.values.has(value) }

// Terms iterates over the terms of the grant in order. There is at least one.
func (g *Grant) Terms() iter.Seq2[int, *Term] {
	return func(yield func(int, *Term) bool) {
		i := 0
		for _, s := range g.terms.parts {
			for at := s.from; at < s.until(); at++ {
				if !yield(i, &s.of.entries[at]) {
					return
				}
				i++
			}
		}
	}
}

// TermCount returns the number of the grant's terms, which is at least 1.
func (g *Grant) TermCount() int { return g.terms.len() }

// Term returns the grant's term number i, counted from 0.
func (g *Grant) Term(i int) *Term { return g.terms.get(i) }

// AnyTerm reports whether the condition holds for any of the grant's terms.
func (g *Grant) AnyTerm(such func(*Term) bool) bool {
	for _, t := range g.Terms() {
		if such(t) {
			return true
		}
	}
	return false
}

// Last returns the grant's last term.
func (g *Grant) Last() *Term { return g.terms.get(g.terms.len() - 1) }

// TermAt returns the term that the grant had at the given time. If the grant was made later, it
// returns the first term.
func (g *Grant) TermAt(at time.Duration) *Term {
	after := sort.Search(g.TermCount(), func(i int) bool { return g.Term(i).At.Lo > at })
	return g.Term(max(0, after-1))
}

// WouldBe returns the grant of a command whose TTL had already ended when the command ran, so that
// no key was left: the grant begins and ends at that time.
func WouldBe(node string, client, op, cmd int, at When) *Grant {
	g := &Grant{Node: node, Client: client, Op: op, Cmd: cmd, At: at}
	g.terms.add(Term{Cmd: cmd, Client: client, At: at, Mortal: true, Expiry: at, Fair: at, Event: -1})
	return g
}

// addTerm gives another term to the key and to all its grants, overwritten ones included.
func (k *keyState) addTerm(t Term) {
	if k.later == nil {
		k.later = &sequel[Term]{shared: true}
		for _, g := range k.everything() {
			g.terms.follow(k.later)
		}
	}
	k.later.add(t)
}

// join makes the grant share all future terms of the key.
func (k *keyState) join(g *Grant) *Grant {
	if k.later != nil {
		g.terms.follow(k.later)
	}
	return g
}

// addNumber adds a number to the values of all grants in the place, current and overwritten.
func (p *placeState) addNumber(number string) {
	if p.numbers == nil {
		p.numbers = &sequel[string]{shared: true, at: map[string][]int{}}
		for _, g := range p.all() {
			g.values.follow(p.numbers)
		}
	}
	p.numbers.add(number)
}

func (p *placeState) join(g *Grant) {
	p.current = append(p.current, g)
	if p.numbers != nil {
		g.values.follow(p.numbers)
	}
}
