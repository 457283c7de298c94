package keyspace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// counted says by how much a command raised or lowered a number that stood there. A
// number that a script was handed was put there, unless it is just the next one.
func (r *reader) counted(was, is string, by actor) (step int64, counts bool) {
	a, errA := strconv.ParseInt(was, 10, 64)
	b, errB := strconv.ParseInt(is, 10, 64)
	if errA != nil || errB != nil || by.pos < 0 || b >= maxCount {
		return 0, false
	}
	args := r.Commands[by.pos].Args
	if len(args) == 0 {
		return 0, false
	}
	name := strings.ToUpper(string(args[0]))
	if counters[name] {
		return b - a, true
	}
	handed := slices.Contains(args[1:], history.Bytes(is))
	next := b-a == 1 || b-a == -1
	return b - a, scripted[name] && (!handed || next)
}

// maxCount is more than anybody counts to: a greater number is a time or a token.
const maxCount = 1_000_000_000

// counters are the commands that count, and do nothing else.
var counters = map[string]bool{"INCR": true, "INCRBY": true, "DECR": true, "DECRBY": true, "HINCRBY": true, "ZINCRBY": true}

// scripted are the commands that may do anything.
var scripted = map[string]bool{"EVAL": true, "EVALSHA": true, "FCALL": true, "EXEC": true}

// count takes in that a number was raised or lowered. Raising it ends nobody's grant:
// whoever raised it has a share in it. Who lowers it gives back a share, his own if he
// has one; the last goes with the number itself.
func (r *reader) count(n *node, k *keyState, key string, s spot, p *place, step int64, by actor) (struck []*Grant) {
	for _, g := range p.all() {
		g.values = append(g.values, s.value)
	}
	if step > 0 {
		g := r.grant(n, k, key, s, by)
		for i, old := range slices.Backward(p.current) {
			if old.Client == by.client {
				old.Over, old.OverSeq = g, g.Seq
				p.overwritten = append(p.overwritten, old)
				p.current = slices.Delete(p.current, i, i+1)
				break
			}
		}
		g.Beside = len(p.current) > 0
		p.current = append(p.current, g)
		return nil
	}
	end := End{How: Deleted, Cmd: by.pos, Event: -1, At: by.at}
	struck = r.giveBack(p, end, by)
	if left, _ := strconv.ParseInt(s.value, 10, 64); left <= 0 {
		p.emptied = &end
	}
	return struck
}

// settle lets those go whose count had come to nothing.
func (r *reader) settle(p *place) {
	if p.emptied != nil {
		r.finish(p.all(), *p.emptied)
		*p = place{}
	}
}

// giveBack ends one share in a count.
func (r *reader) giveBack(p *place, end End, by actor) (struck []*Grant) {
	own, others := -1, -1
	for i, g := range p.current {
		if g.Client == by.client {
			own = i
		} else {
			others = i
		}
	}
	at := own
	switch {
	case own < 0 && others < 0, own >= 0 && others < 0:
		return nil // an entry of several of its own
	case own < 0:
		at = others
	}
	struck = []*Grant{p.current[at]}
	if o := latestOf(p.overwritten, struck[0]); o >= 0 { // an entry of his is left
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

// latestOf is the place of the latest grant that was overwritten by that one; -1 for none.
func latestOf(all []*Grant, by *Grant) int {
	for i, g := range slices.Backward(all) {
		if g.Over == by {
			return i
		}
	}
	return -1
}
