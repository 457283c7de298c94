package checker

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// rests reports whether the grant's release left the key there on purpose, and the key
// still rests at that time. A lock does this if it must not be taken again too soon
// (ShedLock's lockAtLeastFor). The release succeeded and set a TTL that ends no later than
// before, and nobody has prolonged that TTL since. The key then belongs to nobody, and
// keeps others out until it expires. A key that keeps its earlier TTL was not released,
// whatever its value.
//
// Two kinds of grants do not rest. In the first case, another attempt of the same client
// has a grant in the same place, and the client does not know that this attempt succeeded:
// the release may have left only that grant. The second case is a share of a count that
// the release lowered, but not to zero: the release removed only its own share.
func (rp *replay) rests(g *keyspace.Grant, at time.Duration) bool {
	pos, ok := rp.lastByRelease(g, at)
	if !ok {
		return false
	}
	t := g.TermAt(at)
	if t.Cmd < 0 || rp.Commands[t.Cmd].Op != rp.Commands[pos].Op || t.Mortal && longer(g, t) {
		return false
	}
	return !slices.ContainsFunc(rp.Grants, func(o *keyspace.Grant) bool {
		p, isAcquire := rp.acquired(o.Op)
		return isAcquire && o.Client == g.Client && o.Node == g.Node && o.Key == g.Key && o.Place == g.Place &&
			p.Done() != history.OK && (o.End == nil || o.End.At.Lo > at)
	})
}

// longer reports whether that term ends later than every earlier term of the grant.
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

// lastByRelease returns the place of the last command of the grant's release that changed
// the key before that time without deleting it.
func (rp *replay) lastByRelease(g *keyspace.Grant, at time.Duration) (last int, ok bool) {
	release := g.Op
	if h := rp.hold(g); h != nil && h.ToWhy == ByRelease {
		release, _ = rp.invocation(h.End)
	}
	p := rp.operation(release)
	if p.Invoke.F != history.FRelease || p.Done() != history.OK || release == g.Op && !rp.putBack(g) {
		return -1, false
	}
	last = -1
	for _, pos := range rp.sentBy(release) {
		if rp.Commands[pos].Node != g.Node || rp.Ran(pos).Lo > at {
			continue
		}
		for _, i := range rp.Effects[pos] {
			switch k := rp.Evidence.Keys[i]; {
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

// lowered reports whether the change lowered a count in that place, but not to zero.
func lowered(k history.KeyChange, place string) bool {
	was, errA := strconv.ParseInt(elements(k.Before)[place].value, 10, 64)
	is, errB := strconv.ParseInt(elements(k.After)[place].value, 10, 64)
	return errA == nil && errB == nil && 0 < is && is < was
}

// putBack reports whether the grant, which a release made, stands in a place that the same
// release had emptied.
func (rp *replay) putBack(g *keyspace.Grant) bool {
	return slices.ContainsFunc(rp.Grants, func(o *keyspace.Grant) bool {
		return o.Client == g.Client && o.Node == g.Node && o.Key == g.Key && o.Place == g.Place &&
			o.End != nil && o.End.Cmd >= 0 && rp.Commands[o.End.Cmd].Op == g.Op
	})
}

// usurped returns the part of the grant's acquire, in another place of the same key, that a
// successful acquire of that client overwrote before seq; nil if there is none. A client that
// overwrites a record may write the old values into some of its places. Later it removes the
// record as its own.
func (rp *replay) usurped(g *keyspace.Grant, client, seq int) *keyspace.Grant {
	for _, part := range rp.Of(g.Op) {
		if part.NodeKey() != g.NodeKey() || part.Place == g.Place || part.Over == nil || part.Over.Client != client || part.OverSeq > seq {
			continue
		}
		if p, isAcquire := rp.acquired(part.Over.Op); isAcquire && p.Done() == history.OK && client != g.Client {
			return part
		}
	}
	return nil
}
