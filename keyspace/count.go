package keyspace

import (
	"slices"
	"strconv"

	"github.com/lockstorm/lockstorm/history"
)

// counted returns the amount by which a command raised or lowered the number in a place. counts is false
// if no command made the change, if the old or the new value is no number, if the new number is not below
// maxCount, or if the command set the number rather than counted. A script set the number in two cases:
//
//   - findSet found the place.
//   - The new number was one of the script's arguments, and differs from the old number by more than one.
func (r *reader) counted(at KeyPlace, was, is string, by actor) (step int64, counts bool) {
	a, errA := strconv.ParseInt(was, 10, 64)
	b, errB := strconv.ParseInt(is, 10, 64)
	if errA != nil || errB != nil || by.pos < 0 || b >= maxCount {
		return 0, false
	}
	name := r.name(by.pos)
	if counters[name] {
		return b - a, true
	}
	argument := r.isArgument(by.pos, is)
	next := b-a == 1 || b-a == -1
	return b - a, scripted[name] && (!argument || next) && !r.set[at]
}

// findSet finds the places whose numbers scripts set rather than count. In such a place, each number was an
// argument of its script, the command took it out of a queue, or the same command also put it in another key
// that has no TTL. An example of the last case is a fence that is also the lock's value.
func (r *reader) findSet() {
	r.set = map[KeyPlace]bool{}
	counts := map[KeyPlace]bool{}
	for pos, effects := range r.Effects {
		if !r.mayCount(pos) {
			continue
		}
		for _, i := range effects {
			c := &r.Evidence.Keys[i]
			for _, s := range r.Differences[i].put() {
				at := KeyPlace{string(c.Key), s.Name}
				if _, err := strconv.ParseInt(s.Value, 10, 64); err != nil {
					continue
				}
				twice := c.After.Expires > 0 && r.standsForEver(effects, at.Key, s.Value)
				if !counters[r.name(pos)] && (twice || r.isArgument(pos, s.Value) || r.tookOut(pos, s.Value)) {
					r.set[at] = true
				} else {
					counts[at] = true
				}
			}
		}
	}
	for at := range counts {
		delete(r.set, at)
	}
}

// isArgument reports whether the text is one of the command's words, without the third, which is
// numkeys if the command runs a script.
func (r *reader) isArgument(pos int, text string) bool {
	for i, arg := range r.Commands[pos].Args {
		if string(arg) == text && i != 2 {
			return true
		}
	}
	return false
}

// standsForEver reports whether, after one of the changes in effects, a key other than the given one
// contains the number and has no TTL.
func (r *reader) standsForEver(effects []int, key, number string) bool {
	return slices.ContainsFunc(effects, func(i int) bool {
		c := r.Evidence.Keys[i]
		return string(c.Key) != key && c.After != nil && c.After.Expires == 0 &&
			slices.ContainsFunc(Spots(c.After), func(s Spot) bool { return s.Value == number })
	})
}

// maxCount is greater than any count of a lock. A greater number is a time in some unit, or
// a token.
const maxCount = 100_000_000

// counters lists the commands that can do nothing but count.
var counters = map[string]bool{"INCR": true, "INCRBY": true, "DECR": true, "DECRBY": true, "HINCRBY": true, "ZINCRBY": true}

// scripted lists the commands that can do anything.
var scripted = map[string]bool{"EVAL": true, "EVALSHA": true, "FCALL": true, "EXEC": true}

// count applies a change that raised or lowered a number:
//
//   - If the client takes a share, no grant ends.
//   - If the client gives a share back, its own share ends (but see giveBack). If it has none, another
//     client's share ends.
//   - When a count that goes up reaches zero, all its shares end.
func (r *reader) count(n *node, k *keyState, key string, s Spot, p *placeState, step int64, by actor) (struck []*Grant) {
	p.addNumber(s.Value)
	is, _ := strconv.ParseInt(s.Value, 10, 64)
	down := r.down[KeyPlace{key, s.Name}]
	if r.takes(KeyPlace{key, s.Name}, step, is, by) {
		r.share(p, r.grant(n, k, key, s, by), down)
		return nil
	}
	end := End{How: Deleted, Cmd: by.pos, Event: -1, At: by.at}
	struck = r.giveBack(p, end, by, down)
	if is <= 0 && !down {
		p.emptied = &end
	}
	return struck
}

// share adds a grant to a count. Per owner, a count carries at most two current shares: the
// latest granted one and the latest refused one.
func (r *reader) share(p *placeState, g *Grant, down bool) {
	g.counted = true
	if done := r.pair(g.Op); r.acquires(g.Op) && done.Done() == history.Fail {
		g.Refused = true
	}
	if down {
		r.setUp(p, g)
	}
	for i, old := range slices.Backward(p.current) {
		if old.Client == g.Client && old.Refused == g.Refused {
			old.Over, old.OverSeq = g, g.Seq
			p.overwritten = append(p.overwritten, old)
			p.current = slices.Delete(p.current, i, i+1)
			break
		}
	}
	g.JoinedOthers = len(p.current) > 0
	p.join(g)
}

// endEmptied ends the remaining grants of a count that goes up and has reached zero.
func (r *reader) endEmptied(p *placeState) {
	if p.emptied != nil {
		r.finish(p.all(), *p.emptied)
		*p = placeState{}
	}
}

// giveBack ends one share in a count. In a count that goes up, an actor that owns the only
// share keeps it until the number reaches zero.
func (r *reader) giveBack(p *placeState, end End, by actor, down bool) (struck []*Grant) {
	at, others := p.sharing(by)
	switch {
	case at < 0:
		return nil
	case p.current[at].Client == by.client && !others && !down:
		return nil // the share ends when the count reaches zero
	}
	struck = []*Grant{p.current[at]}
	if o := latestOf(p.overwritten, struck[0]); o >= 0 { // the owner's earlier share counts again
		back := p.overwritten[o]
		back.Over, back.OverSeq = nil, 0
		p.overwritten = slices.Delete(p.overwritten, o, o+1)
		p.current[at] = back
	} else {
		p.current = slices.Delete(slices.Clone(p.current), at, at+1)
	}
	r.finish(struck, end)
	return struck
}

// sharing returns the position of the share that ends if the actor gives one back; -1 if there
// is none. It also reports whether there are other shares. The actor's own shares end
// first: the share that this operation took, then its granted share, then its refused one.
// Among the shares of other clients, a refused share ends first.
func (p *placeState) sharing(by actor) (at int, others bool) {
	at, best := -1, 0
	for i, g := range p.current {
		weight := 1
		switch own := g.Client == by.client; {
		case own && g.Op == by.op && by.op >= 0:
			weight = 5
		case own && !g.Refused:
			weight = 4
		case own:
			weight = 3
		case g.Refused:
			weight = 2
		}
		if weight >= best {
			at, best = i, weight
		}
	}
	return at, len(p.current) > 1
}

// latestOf looks in all for the last share of the same owner that the given share (by) overwrote, and
// returns its position; -1 for none.
func latestOf(all []*Grant, by *Grant) int {
	for i, g := range slices.Backward(all) {
		if g.Over == by && g.Client == by.Client && !g.base {
			return i
		}
	}
	return -1
}
