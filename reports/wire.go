package reports

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
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

// keyLife reads what happened to every key of every node from the commands
// that ran there, in the order in which the nodes answered, and from the nemesis's
// events. Expiries are computed from the lives that commands set: nobody sends
// them. A command ran at some time between its arrival and its answer, so that a
// key may have gone a little before the computed time: a grant on a free key
// proves it.
func keyLife(e history.Evidence) ([]keyEvent, []keySpan) {
	l := keyLog{open: map[keyName]*keyState{}, early: map[int]bool{}, offsets: map[string]time.Duration{}, end: endOf(e)}
	l.down, l.gone = nodeDowns(e.Ops)
	type entry struct {
		at  time.Duration
		cmd *history.Command
		op  *history.Op
	}
	var entries []entry
	for i := range e.Commands {
		if e.Commands[i].Ran() {
			entries = append(entries, entry{at: e.Commands[i].Served, cmd: &e.Commands[i]})
		}
	}
	for i := range e.Ops {
		if op := &e.Ops[i]; op.Process == history.Nemesis && op.Window == nil {
			entries = append(entries, entry{at: op.Time, op: op})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	exclusive := exclusiveScripts(e)
	for i, x := range entries {
		l.expire(x.at)
		switch {
		case x.cmd != nil && !l.early[x.cmd.Index]:
			for _, f := range effects(*x.cmd, e.Claims.Scripts) {
				f.free = f.free || f.kind == history.EffectSet && exclusive(*x.cmd)
				// What gave the key back may have answered after the grant
				// that it made way for.
				n := keyName{x.cmd.Node, f.key}
				for _, y := range entries[i+1:] {
					if s := l.open[n]; !f.free || s == nil || s.owner == x.cmd.Client {
						break
					}
					if y.cmd != nil && l.makesWay(*y.cmd, n, *x.cmd, e.Claims.Scripts) {
						l.early[y.cmd.Index] = true
					}
				}
				l.apply(*x.cmd, f)
			}
		case x.op != nil:
			l.nemesis(*x.op)
		}
	}
	l.expire(l.end)
	l.finish()
	return l.events, l.spans
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

// nodeDowns maps the index of each node-up event to the time its node went
// down, and each node that never came back to when it went.
func nodeDowns(ops []history.Op) (downs map[int]time.Duration, gone map[string]time.Duration) {
	downs, gone = map[int]time.Duration{}, map[string]time.Duration{}
	for _, op := range ops {
		switch op.F {
		case history.FNodeDown:
			gone[op.Node] = op.Time
		case history.FNodeUp:
			at, ok := gone[op.Node]
			if !ok {
				at = op.Time
			}
			downs[op.Index] = at
			delete(gone, op.Node)
		}
	}
	return downs, gone
}

type keyName struct{ node, key string }

type keyState struct {
	since    time.Duration
	owner    int           // who set it last
	fields   map[int]bool  // owners with a field of their own, for hashes
	deadline time.Duration // the latest end of its life; 0 = none
	earliest time.Duration // the earliest
}

type keyLog struct {
	open  map[keyName]*keyState
	early map[int]bool // commands that were applied before their answer
	down  map[int]time.Duration
	gone  map[string]time.Duration // as nodeDowns gives them
	// offsets are those of the nodes' clocks; split is the node that serves some
	// clients as a second primary, "" if there is none.
	offsets map[string]time.Duration
	split   string
	// upheaval is when the nemesis last did something to a node.
	upheaval time.Duration
	events   []keyEvent
	spans    []keySpan
	end      time.Duration
}

// names lists the keys that live now, sorted.
func (l *keyLog) names() []keyName {
	all := make([]keyName, 0, len(l.open))
	for n := range l.open {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b keyName) int {
		return cmp.Or(cmp.Compare(l.open[a].deadline, l.open[b].deadline), cmp.Compare(a.node, b.node), cmp.Compare(a.key, b.key))
	})
	return all
}

func (l *keyLog) expire(now time.Duration) {
	for _, n := range l.names() {
		if s := l.open[n]; s.deadline > 0 && s.deadline < now {
			l.event(n, s.deadline, history.NoClient, keyExpired, 0, -1)
			l.close(n, s.deadline, keyExpired)
		}
	}
}

// nemesis applies what an event of the nemesis did to keys.
func (l *keyLog) nemesis(op history.Op) {
	on := func(n keyName) bool { return n.node == op.Node }
	if op.Node != "" && op.F != history.FKeys {
		l.upheaval = op.Time
	}
	switch op.F {
	case history.FNodeUp:
		if op.Lost.Data() {
			l.lose(l.down[op.Index], keyLost, on)
		}
	case history.FNodeDown:
		if l.gone[op.Node] == op.Time {
			l.lose(op.Time, keyLost, on)
		}
	case history.FEvict:
		l.lose(op.Time, keyEvicted, func(n keyName) bool {
			return on(n) && slices.ContainsFunc(op.Keys, func(k history.KeyState) bool { return k.Key == n.key })
		})
	case history.FMigrate:
		l.move(op)
	case history.FSplit:
		l.split = op.Node
	case history.FPromote:
		if l.split == op.Node { // the old primary discards what it alone had
			l.lose(op.Time, keyLost, func(n keyName) bool { return n.node != op.Node })
		}
		l.split = ""
	case history.FNodeClock:
		l.jump(op.Node, op.Offset-l.offsets[op.Node], op.Time)
		l.offsets[op.Node] = op.Offset
	}
}

func (l *keyLog) lose(at time.Duration, why keyEventKind, lost func(keyName) bool) {
	for _, n := range l.names() {
		if lost(n) {
			l.event(n, at, history.NoClient, why, 0, -1)
			l.close(n, at, why)
		}
	}
}

// move lets keys go on at another node as they were.
func (l *keyLog) move(op history.Op) {
	for _, k := range op.Keys {
		from, to := keyName{node: op.From, key: k.Key}, keyName{node: op.Node, key: k.Key}
		s := l.open[from]
		if s == nil {
			continue
		}
		on := *s
		on.since = op.Time
		l.event(from, op.Time, history.NoClient, keyMoved, 0, -1)
		l.close(from, op.Time, keyMoved)
		l.open[to] = &on
	}
}

// jump moves the ends of lives by a step of the node's clock: they are instants
// on it.
func (l *keyLog) jump(node string, ahead, at time.Duration) {
	for n, s := range l.open {
		if n.node == node && s.deadline > 0 {
			s.deadline, s.earliest = max(s.deadline-ahead, at), max(s.earliest-ahead, at)
		}
	}
}

func (l *keyLog) event(n keyName, at time.Duration, client int, kind keyEventKind, ttl time.Duration, command int) {
	owner := history.NoClient
	if s := l.open[n]; s != nil {
		owner = s.owner
	}
	l.events = append(l.events, keyEvent{At: at, Node: n.node, Key: n.key, Client: client, Kind: kind, TTL: ttl, Owner: owner, Command: command})
}

func (l *keyLog) close(n keyName, at time.Duration, why keyEventKind) {
	s := l.open[n]
	if s == nil {
		return
	}
	l.spans = append(l.spans, keySpan{Node: n.node, Key: n.key, Owner: s.owner, From: s.since, To: max(at, s.since), End: why, Forever: s.deadline == 0})
	delete(l.open, n)
}

// ranFrom is the earliest time at which a command can have run.
func ranFrom(c history.Command) time.Duration { return cmp.Or(c.Arrived, c.Sent, c.Served) }

// exclusiveScripts tells the calls of scripts that let nobody in beside another,
// all but those of readers.
func exclusiveScripts(e history.Evidence) func(history.Command) bool {
	modes := map[int]history.Mode{}
	for _, op := range e.Ops {
		modes[op.Index] = op.Mode
	}
	return func(c history.Command) bool {
		if scriptName(c, e.Claims.Scripts) == "" {
			return false
		}
		return !e.Claims.ReadWrite || modes[c.Op] == history.Write
	}
}

// makesWay applies c before the grant if it gave back its client's key n, and
// may have run before the grant did although it answered later.
func (l *keyLog) makesWay(c history.Command, n keyName, grant history.Command, scripts []history.Script) bool {
	s := l.open[n]
	if s == nil || s.owner != c.Client || c.Client == grant.Client || c.Node != n.node || ranFrom(c) > grant.Served {
		return false
	}
	if s.deadline > 0 && s.earliest <= grant.Served {
		return false // it may as well have expired
	}
	fs := effects(c, scripts)
	if len(fs) != 1 || fs[0].kind != history.EffectDelete || fs[0].key != n.key {
		return false
	}
	c.Served = max(ranFrom(c), min(c.Served, ranFrom(grant)), s.since)
	l.apply(c, fs[0])
	return true
}

// vacate ends another client's claim on a key that c found free.
func (l *keyLog) vacate(n keyName, c history.Command) {
	s := l.open[n]
	if s == nil || s.owner == c.Client {
		return
	}
	if x, ok := l.remover(n, s, c.Served); ok {
		l.event(n, x.At, x.Client, keyDeleted, 0, x.Command)
		l.close(n, x.At, keyDeleted)
		return
	}
	why, at := keyGone, ranFrom(c)
	if s.deadline > 0 && s.earliest <= c.Served {
		why, at = keyExpired, min(max(s.earliest, ranFrom(c)), s.deadline, c.Served)
	}
	at = max(at, s.since)
	l.event(n, at, history.NoClient, why, 0, -1)
	l.close(n, at, why)
}

func (l *keyLog) apply(c history.Command, f effect) {
	n := keyName{c.Node, f.key}
	if f.free {
		l.vacate(n, c)
	}
	s := l.open[n]
	live := func(s *keyState) { s.deadline, s.earliest = c.Served+f.ttl, ranFrom(c)+f.ttl }
	switch f.kind {
	case history.EffectSet:
		l.event(n, c.Served, c.Client, keySet, f.ttl, c.Index)
		if f.field {
			l.events[len(l.events)-1].Owner = history.NoClient // others' fields stay
		}
		fields := map[int]bool{}
		var deadline, earliest time.Duration
		if f.field && s != nil {
			fields, deadline, earliest = s.fields, s.deadline, s.earliest
		}
		if s != nil && s.owner == c.Client && f.field {
			s.fields[c.Client] = true
			break
		}
		l.close(n, c.Served, keySet)
		fields[c.Client] = true
		s = &keyState{since: c.Served, owner: c.Client, fields: fields, deadline: deadline, earliest: earliest}
		if f.ttl > 0 {
			live(s)
		}
		l.open[n] = s
	case history.EffectExpire:
		l.event(n, c.Served, c.Client, keyRenewed, f.ttl, c.Index)
		if s != nil {
			live(s)
		}
	case history.EffectPersist:
		l.event(n, c.Served, c.Client, keyPersist, 0, c.Index)
		if s != nil {
			s.deadline = 0
		}
	case history.EffectDelete:
		l.event(n, c.Served, c.Client, keyDeleted, 0, c.Index)
		if f.field && s != nil && l.leave(n, c) {
			break
		}
		l.close(n, c.Served, keyDeleted)
	}
}

func (l *keyLog) finish() {
	for _, n := range l.names() {
		l.close(n, l.end, "")
	}
	slices.SortStableFunc(l.events, func(a, b keyEvent) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(l.spans, func(a, b keySpan) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Key, b.Key), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
}
