package keyspace

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Spot is one place of a key's content, with the value in that place.
type Spot struct{ Name, Value string }

// Spots returns the places of a key's content in the content's order. Equal elements of a
// list get numbered names, such as "c1" and "c1#2".
func Spots(k *history.KeyContent) []Spot {
	switch {
	case k == nil:
		return nil
	case len(k.Fields)+len(k.Members) == 0:
		return []Spot{{Value: string(k.Value)}}
	}
	all := make([]Spot, 0, len(k.Fields)+len(k.Members))
	for _, f := range k.Fields {
		all = append(all, Spot{string(f.Name), string(f.Value)})
	}
	seen := map[history.Bytes]int{}
	for _, m := range k.Members {
		name := string(m)
		if seen[m]++; seen[m] > 1 {
			name += "#" + strconv.Itoa(seen[m])
		}
		all = append(all, Spot{Name: name})
	}
	return all
}

// Difference lists the effects of a change on the places of a key.
type Difference struct {
	Removed []string
	Changed []Replaced
	Added   []Spot
}

// Replaced is a place whose value changed.
type Replaced struct {
	Spot
	Was string
}

// put returns the places that got a value: first the changed places, then the new ones.
func (d Difference) put() (all []Spot) {
	for _, s := range d.Changed {
		all = append(all, s.Spot)
	}
	return append(all, d.Added...)
}

// Compare returns the effects on the places of a key that had and then has this content; nil means that there
// is no key.
func Compare(before, after *history.KeyContent) (d Difference) {
	was, is := Spots(before), Spots(after)
	if before != nil && after != nil && before.Type != after.Type {
		for _, s := range was {
			d.Removed = append(d.Removed, s.Name)
		}
		d.Added = is
		return d
	}
	earlier, later := finder(was), finder(is)
	for _, s := range is {
		switch old, there := earlier(s.Name); {
		case !there:
			d.Added = append(d.Added, s)
		case old != s.Value:
			d.Changed = append(d.Changed, Replaced{s, old})
		}
	}
	for _, s := range was {
		if _, stays := later(s.Name); !stays {
			d.Removed = append(d.Removed, s.Name)
		}
	}
	return d
}

// finder returns a function that finds the value in a place; false if there is no such place.
func finder(all []Spot) func(name string) (value string, there bool) {
	if len(all) > 8 {
		values := make(map[string]string, len(all))
		for _, s := range all {
			values[s.Name] = s.Value
		}
		return func(name string) (string, bool) {
			value, there := values[name]
			return value, there
		}
	}
	return func(name string) (string, bool) {
		for _, s := range all {
			if s.Name == name {
				return s.Value, true
			}
		}
		return "", false
	}
}

// actor is the origin of a change: a client's command, or a Stranger, who is no client of the
// trial.
type actor struct {
	pos    int // position of the command in the log; -1 for none
	client int
	op     int
	at     When
}

// take applies a change, given by its position in Evidence.Keys, and records it as a Step. pos is
// the position in the log of the command that made the change; -1 for none.
func (r *reader) take(n *node, change, pos int) {
	c := r.Evidence.Keys[change]
	k := n.key(string(c.Key))
	r.began = append(r.began, r.seq)
	s := Step{Change: change, Cmd: pos, At: When{Clip(c.From), max(Clip(c.From), Clip(c.To))}, Owner: k.latest()}
	if c.By == history.ByExpiry && k.content != nil {
		s.At = earlier(k.due(), s.At)
	}
	r.change(n, k, change, pos)
	s.Heir, s.Seq = k.latest(), r.tick()
	r.Steps = append(r.Steps, s)
}

// latest returns the last grant that the key carries; nil if it carries none. It returns a
// refused share only if all grants are refused shares.
func (k *keyState) latest() (last *Grant) {
	for _, p := range k.places {
		for _, g := range p.current {
			if last == nil || last.Refused && !g.Refused || last.Refused == g.Refused && last.Seq < g.Seq {
				last = g
			}
		}
	}
	return last
}

// change applies a change, given by its position in Evidence.Keys, to the key's grants. What the change does
// depends on its cause, c.By.
func (r *reader) change(n *node, k *keyState, change, pos int) {
	c := r.Evidence.Keys[change]
	at := When{Clip(c.From), max(Clip(c.From), Clip(c.To))}
	if !k.content.SameValue(c.Before) { // the observer missed an earlier change
		r.unexplained(n, k, c, at)
	}
	by := actor{pos: pos, client: Stranger, op: -1, at: at}
	switch {
	case c.By == history.ByCommand && pos >= 0:
		by.client, by.op = r.Commands[pos].Client, r.Commands[pos].Op
		r.changedBy(n, k, change, by)
	case c.By == history.ByCommand, c.By == history.ByStranger:
		r.changedBy(n, k, change, by)
	case c.By == history.ByExpiry && c.After == nil:
		r.empty(k, End{How: Expired, Cmd: -1, Event: -1, At: earlier(k.due(), at)})
	case c.By == history.ByClock && c.Before.SameValue(c.After):
		r.shift(k, c, at)
	// An expiry or a clock jump with any other effect cannot be explained.
	case c.By == history.ByUnknown, c.By == history.ByExpiry, c.By == history.ByClock:
		c.By = history.ByUnknown
		r.unexplained(n, k, c, at)
	default:
		r.moved(n, k, change, at)
	}
	if k.content = c.After; c.After == nil {
		k.clear()
	}
}

// earlier bounds the time at which a key expired: it takes the earlier of the time when the
// key was due and the time when it was seen to be gone.
func earlier(due, seen When) When { return When{min(due.Lo, seen.Lo), min(due.Hi, seen.Hi)} }

// changedBy applies a change that a command or a stranger made: grants of removed places end,
// changed and new places get grants.
func (r *reader) changedBy(n *node, k *keyState, change int, by actor) {
	c, d := r.Evidence.Keys[change], r.Differences[change]
	name := string(c.Key)
	r.setTerm(n, k, c, by)
	end := End{How: Deleted, Cmd: by.pos, Event: -1, At: by.at}
	var struck []*Grant
	for _, at := range d.Removed {
		if p := k.places[at]; p != nil {
			struck = append(struck, p.standing()...)
			r.endEmptied(p)
			r.finish(p.all(), end)
			delete(k.places, at)
		}
	}
	r.strike(n, name, Removal, by, struck)
	struck = nil
	for _, s := range d.Changed {
		struck = append(struck, r.put(n, k, name, s.Spot, s.Was, by)...)
	}
	r.strike(n, name, Replacement, by, struck)
	for _, s := range d.Added {
		k.places[s.Name] = &placeState{current: []*Grant{r.grant(n, k, name, s, by)}}
	}
}

// strike records that a command struck the given grants (on), which may include its sender's own
// grants. It records nothing if there are no such grants or if no command made the change.
func (r *reader) strike(n *node, key string, kind Kind, by actor, on []*Grant) {
	if len(on) > 0 && by.pos >= 0 {
		r.Strikes = append(r.Strikes, Strike{Cmd: by.pos, Kind: kind, Node: n.name, Key: key, At: by.at, Seq: r.tick(), On: on})
	}
}

// setTerm sets the key's term to the TTL that the change gave the key. It does nothing if the change
// left no key or kept its expiry. If the key existed before, the new TTL is a strike on its grants.
func (r *reader) setTerm(n *node, k *keyState, c history.KeyChange, by actor) {
	if c.After == nil || c.Before != nil && c.Before.Expires == c.After.Expires {
		return
	}
	k.term = termOf(c, by)
	k.jumped = 0
	if c.Before == nil {
		return
	}
	k.addTerm(k.term)
	r.strike(n, string(c.Key), Prolonging, by, k.carried())
}

// slack returns the uncertainty about the end of a term that was set at the given instant. If that
// instant is known only within bounds, the reading of the node's clock adds an uncertainty of 2 ms.
func slack(at When) time.Duration {
	if at.Lo == at.Hi {
		return 0
	}
	return at.Hi - at.Lo + 2*time.Millisecond
}

func termOf(c history.KeyChange, by actor) Term {
	t := Term{Cmd: by.pos, Client: by.client, At: by.at, Mortal: c.After.Expires > 0, Event: -1}
	if t.Mortal {
		doubt := slack(by.at)
		t.Expiry = When{Clip(c.After.Expires - doubt), Clip(c.After.Expires + doubt)}
		t.Fair = t.Expiry
	}
	return t
}

// put records a new value in a place, and returns the grants that it replaced.
func (r *reader) put(n *node, k *keyState, key string, s Spot, was string, by actor) (struck []*Grant) {
	p := k.places[s.Name]
	if p == nil {
		p = &placeState{}
		k.places[s.Name] = p
	}
	r.endEmptied(p)
	if step, counts := r.counted(KeyPlace{key, s.Name}, was, s.Value, by); counts {
		return r.count(n, k, key, s, p, step, by)
	}
	if _, _, handed := r.heir(by, s); !handed && (r.continues(p, by) || r.stillNames(p, KeyPlace{key, s.Name}, s.Value, by)) {
		for _, g := range p.current {
			g.hold(s.Value)
		}
		return nil
	}
	g := r.grant(n, k, key, s, by)
	return p.overwrite(g)
}

// overwrite puts the grant in the place, and returns the grants that it replaced.
func (p *placeState) overwrite(g *Grant) (struck []*Grant) {
	for _, old := range p.current {
		old.Over, old.OverSeq = g, g.Seq
	}
	struck, p.current = p.current, nil
	p.overwritten = append(p.overwritten, struck...)
	p.join(g)
	return struck
}

// continues reports whether the owner of the place only updated its value. If the owner
// changes the value in a later acquire, that makes a new grant.
func (r *reader) continues(p *placeState, by actor) bool {
	if len(p.current) == 0 {
		return false
	}
	acquire := r.acquires(by.op)
	return !slices.ContainsFunc(p.current, func(g *Grant) bool {
		return g.Client != by.client || acquire && g.Op != by.op
	})
}

// grant creates the grant of a value that the actor put in a place, for itself or for
// another client. The caller adds the grant to the place.
func (r *reader) grant(n *node, k *keyState, key string, s Spot, by actor) *Grant {
	owner, lock, handed := r.heir(by, s)
	g := r.grantTo(n, k, key, s, owner)
	if handed {
		g.Handed, g.Lock = true, lock
	}
	return g
}

// grantTo creates the grant for a known owner.
func (r *reader) grantTo(n *node, k *keyState, key string, s Spot, by actor) *Grant {
	g := &Grant{
		Node: n.name, Key: key, Place: s.Name, Client: by.client, Op: by.op, Cmd: by.pos, At: by.at, Seq: r.tick(),
	}
	term := k.term
	if term.Cmd != by.pos || term.At != by.at { // the command set no TTL; the key's TTL applies
		term.Cmd, term.Client, term.At = by.pos, by.client, by.at
		term.Most = 0
	}
	g.terms.add(term)
	k.join(g)
	g.hold(s.Value)
	asked := r.pair(by.op).Invoke
	g.Lock, g.Mode = asked.Lock, asked.Mode
	r.enter(g)
	return g
}

func (g *Grant) hold(value string) {
	g.Value = value
	g.values.add(value)
}

func (r *reader) enter(g *Grant) {
	r.Grants = append(r.Grants, g)
	r.byOp[g.Op] = append(r.byOp[g.Op], g)
	r.byKey[g.Key] = append(r.byKey[g.Key], g)
	acquire := r.acquires(g.Op)
	if acquire && !slices.Contains(r.holders[g.Lock], g.Key) {
		r.holders[g.Lock] = append(r.holders[g.Lock], g.Key)
	}
}

// empty ends all grants of the key; the key is absent from now on.
func (r *reader) empty(k *keyState, e End) {
	r.finish(k.everything(), e)
	k.clear()
}

// drop ends all grants of these places.
func (r *reader) drop(k *keyState, places []string, e End) {
	for _, name := range places {
		if p := k.places[name]; p != nil {
			r.finish(p.all(), e)
			delete(k.places, name)
		}
	}
}

// finish gives the same end, with the same Seq, to all of the grants that have not ended.
func (r *reader) finish(grants []*Grant, e End) {
	e.Seq = r.tick()
	for _, g := range grants {
		if g.End == nil {
			end := e
			end.At.Lo = max(end.At.Lo, g.At.Lo) // a restored older term may have ended before g began
			end.At.Hi = max(end.At.Hi, end.At.Lo)
			g.End = &end
			g.terms.leave()
			g.values.leave()
		}
	}
}

// unexplained brings the key to the content after a change of unknown cause. Grants of changed places end
// as Unclear, and the new values are a stranger's. If the cause of c is known, the unexplained change is an
// earlier one that was missed. Then unexplained brings the key to the content before c.
func (r *reader) unexplained(n *node, k *keyState, c history.KeyChange, at When) {
	after := c.After
	if c.By != history.ByUnknown {
		after = c.Before
	}
	d := Compare(k.content, after)
	end := End{How: Unclear, Cmd: -1, Event: -1, At: at}
	r.drop(k, d.Removed, end)
	if after == nil {
		k.clear()
		return
	}
	by := actor{pos: -1, client: Stranger, op: -1, at: at}
	if k.content == nil || k.content.Expires != after.Expires {
		k.term, k.jumped = termOf(history.KeyChange{After: after}, by), 0
		k.addTerm(k.term)
	}
	for _, s := range d.put() {
		r.drop(k, []string{s.Name}, end)
		k.places[s.Name] = &placeState{current: []*Grant{r.grant(n, k, string(c.Key), s, by)}}
	}
	k.content = after
}
