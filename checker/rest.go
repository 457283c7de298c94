package checker

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// rests says whether what stands of the grant at that time is what the release of it left
// in the key on purpose, as a lock does that must not be taken again too soon (ShedLock's
// lockAtLeastFor): the release, which went well, gave the key a life that ends no later
// than it did before, and nobody has prolonged that since. It belongs to nobody, and keeps
// others out until that life is over. What keeps the life that it had before was not
// released, whatever its value.
//
// Where an attempt of the same client that it does not know to have succeeded stands in
// the same place, the release may have left only that: then it is an orphan. So is an
// entry of a count that the release lowered, but not to nothing: it took only its own.
func (w *wire) rests(g *keyspace.Grant, at time.Duration) bool {
	pos, ok := w.lastByRelease(g, at)
	if !ok {
		return false
	}
	t := g.TermAt(at)
	if t.Cmd < 0 || w.Commands[t.Cmd].Op != w.Commands[pos].Op || t.Mortal && longer(g, t) {
		return false
	}
	return !slices.ContainsFunc(w.Grants, func(o *keyspace.Grant) bool {
		p, isAcquire := w.acquired(o.Op)
		return isAcquire && o.Client == g.Client && o.Node == g.Node && o.Key == g.Key && o.Place == g.Place &&
			p.Done() != history.OK && (o.End == nil || o.End.At.Lo > at)
	})
}

// longer says whether that life ends later than every earlier one of the grant.
func longer(g *keyspace.Grant, t *keyspace.Term) bool {
	earlier, later := false, true
	for _, before := range g.Lives() {
		if before == t {
			break
		}
		if before.Mortal {
			earlier, later = true, later && before.Expiry.Hi < t.Expiry.Lo
		}
	}
	return earlier && later
}

// lastByRelease is the place of the last command by which the release of the grant
// changed its key before that time, and left it there.
func (w *wire) lastByRelease(g *keyspace.Grant, at time.Duration) (last int, ok bool) {
	release := g.Op
	if h := w.hold(g); h != nil && h.ToWhy == ByRelease {
		release, _ = w.invocation(h.End)
	}
	p := w.operation(release)
	if p.Invoke.F != history.FRelease || p.Done() != history.OK || release == g.Op && !w.putBack(g) {
		return -1, false
	}
	last = -1
	for _, pos := range w.sentBy(release) {
		if w.Commands[pos].Node != g.Node || w.Ran(pos).Lo > at {
			continue
		}
		for _, i := range w.Effects[pos] {
			switch k := w.Evidence.Keys[i]; {
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

// lowered says whether the change left less of a count in that place, though not nothing.
func lowered(k history.KeyChange, place string) bool {
	was, errA := strconv.ParseInt(elements(k.Before)[place].value, 10, 64)
	is, errB := strconv.ParseInt(elements(k.After)[place].value, 10, 64)
	return errA == nil && errB == nil && 0 < is && is < was
}

// putBack says whether the grant, which a release made, came in the place of what that
// release itself had removed.
func (w *wire) putBack(g *keyspace.Grant) bool {
	return slices.ContainsFunc(w.Grants, func(o *keyspace.Grant) bool {
		return o.Client == g.Client && o.Node == g.Node && o.Key == g.Key && o.Place == g.Place &&
			o.End != nil && o.End.Cmd >= 0 && w.Commands[o.End.Cmd].Op == g.Op
	})
}
