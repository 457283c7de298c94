package facts

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Event is one event in the life of a key on a node.
type Event struct {
	At time.Duration
	keyspace.NodeKey
	Client int // the command's sender; history.NoClient if there was no command
	Kind   Kind
	TTL    time.Duration // the key's TTL after the event; 0 = none
	Owner  int           // the client whose grant the event affects; history.NoClient if none
	// Command is the index of the command; -1 if there was none.
	Command int
	// Counter: the key counts fencing tokens. It carries nobody's grant.
	Counter bool
}

// Foreign reports whether a command changed a key that carried another client's grant.
func (x Event) Foreign() bool { return x.Client >= 0 && x.Owner >= 0 && x.Client != x.Owner }

// Kind says what happened to a key, such as "set" or "expired".
type Kind string

const (
	Set       Kind = "set"
	Renewed   Kind = "renewed"
	Persisted Kind = "persisted"
	Deleted   Kind = "deleted"
	Expired   Kind = "expired"
	Lost      Kind = "lost"
	Evicted   Kind = "evicted"
	Moved     Kind = "moved" // to another node, with its slot
	Gone      Kind = "gone"  // removed by an unknown cause
)

// Span is a time during which a key on a node carried one client's grant.
type Span struct {
	keyspace.NodeKey
	Owner    int
	From, To time.Duration
	End      Kind // how the span ended; "" = not before the trial's end; Set = the next grant replaced it
	Forever  bool // the key had no TTL when the span ended
}

// keyLife returns the events of all keys on all nodes, and the spans during which the keys
// carried clients' grants.
func keyLife(e history.Evidence, pairs []history.Pair, keys *keyspace.Keys) ([]Event, []Span) {
	var events []Event
	counters := fenceCounters(e, pairs, keys)
	for _, s := range keys.Steps {
		if x, ok := eventOf(e, s); ok {
			if x.Counter = counters[x.NodeKey]; x.Counter {
				x.Owner = history.NoClient
			} else {
				x.Owner = affectedOwner(keys, s, x)
			}
			events = append(events, x)
		}
	}
	spans := spansOf(keys, counters, End(e))
	events = append(events, redateLosses(e.Ops, events, spans)...)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return events, spans
}

// eventOf returns the event of one change; false if the change is too minor to report.
func eventOf(e history.Evidence, s keyspace.Step) (Event, bool) {
	c := e.Keys[s.Change]
	x := Event{At: s.At.Hi, NodeKey: keyspace.NodeKey{Node: c.Node, Key: string(c.Key)}, Client: history.NoClient, Owner: ownerOf(s.Owner), Command: -1}
	if s.Cmd >= 0 {
		x.Client, x.Command = e.Commands[s.Cmd].Client, e.Commands[s.Cmd].Index
	}
	if c.After != nil && c.After.Expires > 0 {
		x.TTL = (c.After.Expires - s.At.Hi).Round(time.Millisecond) // Redis counts milliseconds
	}
	x.Kind = kindOf(c, s)
	if x.Kind == Set && c.Before != nil && c.Before.Type == "hash" {
		x.Owner = history.NoClient // a new field in a hash leaves the fields of other owners
	}
	return x, x.Kind != ""
}

// affectedOwner returns the client whose grant the event affects: the key's owner. If an owner deletes a
// key that it shares with other owners, affectedOwner returns one of the other owners.
func affectedOwner(keys *keyspace.Keys, s keyspace.Step, x Event) int {
	if x.Kind != Deleted || x.Client != x.Owner {
		return x.Owner
	}
	for _, strike := range keys.Strikes {
		for _, g := range strike.On {
			if strike.Cmd == s.Cmd && strike.Key == x.Key && g.Client >= 0 && g.Client != x.Client && g.Over == nil {
				return g.Client
			}
		}
	}
	return x.Owner
}

func ownerOf(g *keyspace.Grant) int {
	if g == nil {
		return history.NoClient
	}
	return g.Client
}

// kindOf returns the kind of the change; "" if the change is too minor to report.
func kindOf(c history.KeyChange, s keyspace.Step) Kind {
	gone := c.After == nil
	switch c.By {
	case history.ByExpiry:
		return Expired
	case history.ByEviction:
		return Evicted
	case history.ByMigration:
		return map[bool]Kind{true: Moved}[gone]
	case history.ByClock:
		return ""
	case history.ByUnknown:
		return map[bool]Kind{true: Gone}[gone]
	case history.ByRestart, history.ByPromotion, history.ByReplication:
		return map[bool]Kind{true: Lost}[gone]
	}
	switch {
	case gone, s.Owner != nil && s.Owner.End != nil && s.Owner.End.Cmd == s.Cmd:
		return Deleted
	case c.Before == nil || !c.Before.SameValue(c.After), s.Heir != nil && s.Heir.Cmd == s.Cmd && s.Heir != s.Owner:
		return Set
	case c.After.Expires == 0:
		return Persisted
	}
	return Renewed
}

// spansOf returns the spans during which each key carried one client's grant. If several grants
// overlap, the latest one counts. A client that joined other clients in a counter of holders has no
// span (keyspace.Grant.JoinedOthers). Counters of fencing tokens have no spans.
func spansOf(keys *keyspace.Keys, counters map[keyspace.NodeKey]bool, end time.Duration) []Span {
	byKey := map[keyspace.NodeKey][]*keyspace.Grant{}
	for _, g := range keys.Grants {
		n := g.NodeKey()
		if g.Client >= 0 && !g.JoinedOthers && !counters[n] {
			byKey[n] = append(byKey[n], g)
		}
	}
	var spans []Span
	for n, grants := range byKey {
		spans = append(spans, carried(n, grants, end)...)
	}
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Key, b.Key), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return spans
}

// stretch is the interval in which a key carried one grant.
type stretch struct {
	*keyspace.Grant
	from, to time.Duration
	end      Kind
}

func stretchOf(g *keyspace.Grant, end time.Duration) stretch {
	s := stretch{Grant: g, from: max(g.At.Hi, g.Came), to: end}
	if g.End != nil {
		s.to, s.end = g.End.At.Hi, endKinds[g.End.How]
	}
	if g.Over != nil && g.Over.At.Hi <= s.to {
		s.to, s.end = g.Over.At.Hi, Set
	}
	s.to = max(s.from, s.to)
	return s
}

var endKinds = map[keyspace.How]Kind{
	keyspace.Deleted: Deleted, keyspace.Expired: Expired, keyspace.Lost: Lost, keyspace.Unclear: Gone,
}

// carried returns the spans of key n. While several grants last, the key carries the latest of
// them. end is the end of the trial.
func carried(n keyspace.NodeKey, grants []*keyspace.Grant, end time.Duration) (spans []Span) {
	var all []stretch
	var cuts []time.Duration
	for _, g := range grants {
		s := stretchOf(g, end)
		all, cuts = append(all, s), append(cuts, s.from, s.to)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := range len(cuts) - 1 {
		from, to := cuts[i], cuts[i+1]
		var top *stretch
		for j := range all {
			if all[j].from <= from && from < all[j].to && (top == nil || all[j].Seq > top.Seq) {
				top = &all[j]
			}
		}
		if top == nil {
			continue
		}
		next := Span{NodeKey: n, Owner: top.Client, From: from, To: to, End: Set, Forever: !top.TermAt(to).Mortal}
		if to == top.to {
			next.End = top.end
		}
		if last := len(spans) - 1; last >= 0 && spans[last].To == from && spans[last].Owner == top.Client {
			spans[last].To, spans[last].End, spans[last].Forever = to, next.End, next.Forever
		} else {
			spans = append(spans, next)
		}
	}
	return spans
}
