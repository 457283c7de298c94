package checker

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file distinguishes a client's entry in a queue from a grant that brings the lock. Package
// keyspace records a grant as soon as a command adds the entry. But the client has the lock only when its
// turn comes.

// onlyWaited reports whether the strike removed an entry that had not yet brought its client the lock. The
// removal came before the client's hold began, and after the removal the same acquire sent another command
// to the node. In addition, one of two things is true:
//
//   - At the removal, the entry stood behind another client's entry in a list or a sorted set, and the
//     lease of that other entry had not ended by its node's clock. Afterwards the client got another grant
//     on which its hold can rest, by its own command or another client's.
//   - The client joined again within the same acquire, so that its hold rests on the later entry. At the
//     removal, another client held the lock, or another client's entry was ahead, even if that entry's
//     lease had ended.
//
// An entry only waited too if the command that removed it handed the lock to its client, in another place.
//
// If a lock has several permits, or if the modes are compatible, even an entry behind another one may have
// brought the lock.
func (rp *places) onlyWaited(s keyspace.Strike, g *keyspace.Grant) bool {
	h := rp.hold(g)
	if s.Kind != keyspace.Removal || rp.Claims.Permits > 1 || h == nil || s.At.Hi >= h.From {
		return false
	}
	if slices.ContainsFunc(rp.made[s.Cmd], func(o *keyspace.Grant) bool {
		return o.Handed && o.Client == g.Client && o.Lock == g.Lock && o.KeyPlace() != g.KeyPlace()
	}) {
		return true
	}
	asked := slices.ContainsFunc(rp.SentBy(g.Op), func(pos int) bool {
		return rp.Commands[pos].Node == g.Node && rp.Commands[pos].Sent > s.At.Hi
	})
	if !asked {
		return false
	}
	// Without a later grant, the hold rests on the removed entry, whichever end of the
	// queue is the head.
	onLater := slices.ContainsFunc(rp.Grants, func(o *keyspace.Grant) bool {
		return o.Client == g.Client && o.Lock == g.Lock && o.Seq > s.Seq && !o.Copied && o.At.Hi <= h.From
	})
	ahead := rp.aheadOf(s, g)
	if onLater && slices.ContainsFunc(ahead, func(o *keyspace.Grant) bool { return !rp.lapsedByNode(o, s.At.Lo) }) {
		return true
	}
	again := slices.ContainsFunc(rp.Of(g.Op), func(o *keyspace.Grant) bool {
		return o.NodeKey() == g.NodeKey() && o.Place == g.Place && o.Seq > s.Seq && !o.Copied && o.At.Hi <= h.From
	})
	return again && (len(ahead) > 0 || rp.believes(g.Lock, g.Mode, s.At.Lo, g.Client))
}

// passages returns the keys out of which acquires take their own entries before they succeed, such
// as queues in keys of their own. No hold rests on such a key: on the node that granted the lock, each
// successful acquire took its entry out of the key again and kept a grant in another key. A string
// that several clients set, one after another, is no queue: it guards the acquires against each
// other. In a quorum no key is a passage, since acquires also take back grants that are useless to
// them.
func (rp *places) passages() map[string]bool {
	passing := map[string]bool{}
	if rp.Quorum() > 1 {
		return passing
	}
	barred := map[string]bool{}
	for i := range rp.Pairing.All {
		p := &rp.Pairing.All[i]
		if _, isAcquire := rp.Acquired(p.Invoke.Index); !isAcquire || p.Done() != history.OK {
			continue
		}
		var taken, left []*keyspace.Grant
		for _, g := range rp.Of(p.Invoke.Index) {
			switch {
			case rp.endedIn(g, g.Op) && g.End.At.Lo <= p.Complete.Time:
				taken = append(taken, g)
			case !g.Copied && g.At.Lo <= p.Complete.Time && g.Until() > p.Complete.Time:
				left = append(left, g)
			}
		}
		for _, l := range left {
			here := slices.ContainsFunc(taken, func(t *keyspace.Grant) bool { return t.NodeKey() == l.NodeKey() })
			anywhere := slices.ContainsFunc(taken, func(t *keyspace.Grant) bool { return t.Key == l.Key })
			barred[l.Key] = barred[l.Key] || here || !anywhere
		}
		for _, t := range taken {
			passing[t.Key] = passing[t.Key] || slices.ContainsFunc(left, func(l *keyspace.Grant) bool { return l.Key != t.Key && l.Node == t.Node })
		}
	}
	maps.DeleteFunc(passing, func(key string, _ bool) bool {
		whole := rp.at[keyspace.KeyPlace{Key: key}]
		return barred[key] || whole != nil && whole.clients
	})
	return passing
}

// waitedInVain returns the grants that another client removed while they were only entries of waiting
// clients: see onlyWaited.
func (rp *places) waitedInVain() map[*keyspace.Grant]bool {
	waited := map[*keyspace.Grant]bool{}
	for _, s := range rp.Strikes {
		for _, g := range s.On {
			if g.Client != rp.Commands[s.Cmd].Client && rp.onlyWaited(s, g) {
				waited[g] = true
			}
		}
	}
	return waited
}

// aheadOf returns the other clients' grants that stood ahead of this grant in its key just
// before the strike, and whose modes exclude the grant's mode.
func (rp *places) aheadOf(s keyspace.Strike, g *keyspace.Grant) (ahead []*keyspace.Grant) {
	var before []string
	for _, i := range rp.Effects[s.Cmd] {
		if k := rp.Evidence.Keys[i]; k.Node == s.Node && string(k.Key) == s.Key {
			line := inLine(k.Before)
			before = line[:max(0, slices.Index(line, g.Place))]
			break
		}
	}
	for _, m := range rp.Contacts {
		if m.Cmd != s.Cmd || m.On[0].Key != s.Key {
			continue
		}
		for _, o := range m.On {
			_, isAcquire := rp.Acquired(o.Op)
			if isAcquire && o.Client != g.Client && o.Lock == g.Lock && !compatible(o.Mode, g.Mode) && slices.Contains(before, o.Place) {
				ahead = append(ahead, o)
			}
		}
	}
	return ahead
}

// inLine returns the places of a list in their order, or those of a sorted set by score.
// Keys of other types have no order.
func inLine(k *history.KeyContent) (line []string) {
	if k == nil || k.Type != "list" && k.Type != "zset" {
		return nil
	}
	spots := keyspace.Spots(k)
	if k.Type == "zset" {
		score := func(s keyspace.Spot) float64 {
			n, _ := strconv.ParseFloat(s.Value, 64) // Redis always writes a number
			return n
		}
		slices.SortStableFunc(spots, func(a, b keyspace.Spot) int { return cmp.Compare(score(a), score(b)) })
	}
	for _, s := range spots {
		line = append(line, s.Name)
	}
	return line
}
