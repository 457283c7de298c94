package checker

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// rests says whether the grant's release left the key there on purpose, and the key still
// stands so at that time. A lock does this if it must not be taken again too soon
// (ShedLock's lockAtLeastFor). The release succeeded and gave the key a life that ends no
// later than before, and nobody has prolonged that life since. The key then belongs to
// nobody, and keeps others out until its life is over. A key that keeps its earlier life
// was not released, whatever its value.
//
// Two grants are orphans all the same. One is a grant in whose place another attempt of the
// same client stands, if the client does not know that this attempt succeeded: the release
// may have left only that. The other is a share of a count that the release lowered, but
// not to nothing: the release took only its own share.
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

// lastByRelease is the place of the last command of the grant's release that changed the key
// before that time and left it there.
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

// lowered says whether the change lowered a count in that place, but not to nothing.
func lowered(k history.KeyChange, place string) bool {
	was, errA := strconv.ParseInt(elements(k.Before)[place].value, 10, 64)
	is, errB := strconv.ParseInt(elements(k.After)[place].value, 10, 64)
	return errA == nil && errB == nil && 0 < is && is < was
}

// putBack says whether the grant, which a release made, stands in a place that the same
// release had emptied.
func (w *wire) putBack(g *keyspace.Grant) bool {
	return slices.ContainsFunc(w.Grants, func(o *keyspace.Grant) bool {
		return o.Client == g.Client && o.Node == g.Node && o.Key == g.Key && o.Place == g.Place &&
			o.End != nil && o.End.Cmd >= 0 && w.Commands[o.End.Cmd].Op == g.Op
	})
}
