package reports

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// keyEvent is one thing that happened to a key on a node.
type keyEvent struct {
	At     time.Duration
	Node   string
	Key    string
	Client int // whose command it was; history.NoClient for the node's own doing
	Kind   keyEventKind
	TTL    time.Duration // the life that was set; 0 = none
	Owner  int           // whose claim the key carried just before; history.NoClient if none
	// Command is the index of the command, -1 for the node's own doing.
	Command int
}

// foreign says whether a client's command changed what carried another's claim.
func (x keyEvent) foreign() bool { return x.Client >= 0 && x.Owner >= 0 && x.Client != x.Owner }

// keyEventKind is what happened.
type keyEventKind string

const (
	keySet     keyEventKind = "set"
	keyRenewed keyEventKind = "renewed"
	keyPersist keyEventKind = "persisted"
	keyDeleted keyEventKind = "deleted"
	keyExpired keyEventKind = "expired"
	keyLost    keyEventKind = "lost"
	keyEvicted keyEventKind = "evicted"
	keyMoved   keyEventKind = "moved" // to another node, with its slot
	keyGone    keyEventKind = "gone"  // nobody knows how: the next grant proves it
)

// keySpan is a time during which a key on a node carried one client's claim.
type keySpan struct {
	Node, Key string
	Owner     int
	From, To  time.Duration
	End       keyEventKind // "" = it outlived the trial; keySet = the next claim replaced it
	Forever   bool         // it had no TTL when it ended
}

// keyLife tells what happened to every key of every node, and whose grants the keys
// carried when.
func keyLife(e history.Evidence, keys *keyspace.Keys) ([]keyEvent, []keySpan) {
	var events []keyEvent
	for _, s := range keys.Steps {
		if x, ok := eventOf(e, s); ok {
			x.Owner = robbed(keys, s, x)
			events = append(events, x)
		}
	}
	spans := spansOf(keys, endOf(e))
	events = append(events, lose(e.Ops, events, spans)...)
	slices.SortStableFunc(events, func(a, b keyEvent) int { return cmp.Compare(a.At, b.At) })
	return events, spans
}

// eventOf tells of one change; not ok if there is nothing to tell.
func eventOf(e history.Evidence, s keyspace.Step) (keyEvent, bool) {
	c := e.Keys[s.Change]
	x := keyEvent{At: s.At.Hi, Node: c.Node, Key: string(c.Key), Client: history.NoClient, Owner: ownerOf(s.Owner), Command: -1}
	if s.Cmd >= 0 {
		x.Client, x.Command = e.Commands[s.Cmd].Client, e.Commands[s.Cmd].Index
	}
	if c.After != nil && c.After.Expires > 0 {
		x.TTL = (c.After.Expires - s.At.Hi).Round(time.Millisecond) // as Redis counts it
	}
	x.Kind = kindOf(c, s)
	if x.Kind == keySet && c.Before != nil && c.Before.Type == "hash" {
		x.Owner = history.NoClient // others' fields stay
	}
	return x, x.Kind != ""
}

// robbed is whose grant the event concerns: of a key with several owners from which one
// removed all, another's than the sender's.
func robbed(keys *keyspace.Keys, s keyspace.Step, x keyEvent) int {
	if x.Kind != keyDeleted || x.Client != x.Owner {
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

// kindOf is what the change did; "" if nothing that is worth telling.
func kindOf(c history.KeyChange, s keyspace.Step) keyEventKind {
	gone := c.After == nil
	switch c.By {
	case history.ByExpiry:
		return keyExpired
	case history.ByEviction:
		return keyEvicted
	case history.ByMigration:
		return map[bool]keyEventKind{true: keyMoved}[gone]
	case history.ByClock:
		return ""
	case history.ByUnknown:
		return map[bool]keyEventKind{true: keyGone}[gone]
	case history.ByRestart, history.ByPromotion, history.ByReplication:
		return map[bool]keyEventKind{true: keyLost}[gone]
	}
	switch {
	case gone, s.Owner != nil && s.Owner.End != nil && s.Owner.End.Cmd == s.Cmd:
		return keyDeleted
	case c.Before == nil || !c.Before.SameValue(c.After), s.Heir != nil && s.Heir.Cmd == s.Cmd && s.Heir != s.Owner:
		return keySet
	case c.After.Expires == 0:
		return keyPersist
	}
	return keyRenewed
}

// spansOf are the times during which each key carried one client's grant: of several,
// that of who came last.
func spansOf(keys *keyspace.Keys, end time.Duration) []keySpan {
	byKey := map[keyName][]*keyspace.Grant{}
	for _, g := range keys.Grants {
		if g.Client >= 0 && !g.Beside {
			n := keyName{node: g.Node, key: g.Key}
			byKey[n] = append(byKey[n], g)
		}
	}
	var spans []keySpan
	for n, grants := range byKey {
		spans = append(spans, carried(n, grants, end)...)
	}
	slices.SortStableFunc(spans, func(a, b keySpan) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Key, b.Key), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return spans
}

// stretch is when a key carried one grant.
type stretch struct {
	*keyspace.Grant
	from, to time.Duration
	end      keyEventKind
}

func stretchOf(g *keyspace.Grant, end time.Duration) stretch {
	s := stretch{Grant: g, from: max(g.At.Hi, g.Came), to: end}
	if g.End != nil {
		s.to, s.end = g.End.At.Hi, endKinds[g.End.How]
	}
	if g.Over != nil && g.Over.At.Hi <= s.to {
		s.to, s.end = g.Over.At.Hi, keySet
	}
	s.to = max(s.from, s.to)
	return s
}

var endKinds = map[keyspace.How]keyEventKind{
	keyspace.Deleted: keyDeleted, keyspace.Expired: keyExpired, keyspace.Lost: keyLost, keyspace.Unclear: keyGone,
}

// carried lays the stretches of one key end to end: whoever comes goes before who is
// there, and when he goes it is that one's again.
func carried(n keyName, grants []*keyspace.Grant, end time.Duration) (spans []keySpan) {
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
		next := keySpan{Node: n.node, Key: n.key, Owner: top.Client, From: from, To: to, End: keySet, Forever: !top.TermAt(to).Mortal}
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

// endOf is the time of the evidence's last entry.
func endOf(e history.Evidence) time.Duration {
	var end time.Duration
	if n := len(e.Ops); n > 0 {
		end = e.Ops[n-1].Time
	}
	for _, c := range e.Commands {
		end = max(end, c.Sent, c.Served, c.Replied)
	}
	return end
}

// keyName names a key of a node.
type keyName struct{ node, key string }

func (x keyEvent) name() keyName { return keyName{node: x.Node, key: x.Key} }

func (s keySpan) name() keyName { return keyName{node: s.Node, key: s.Key} }

// scriptName is what texts call the script that a command ran, "" for one without a
// name and for any other command.
func scriptName(c history.Command, names map[string]string) string {
	sha, _ := c.Script()
	return names[sha]
}

// scripted says whether the command ran a script.
func scripted(c history.Command) bool {
	_, ok := c.Script()
	return ok
}
