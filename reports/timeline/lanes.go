package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/reports/story"
)

// faultLanes stacks the faults in at most four lanes, so that no fault's bar covers another.
func faultLanes(f titles) []lane {
	var bars []bar
	for _, w := range f.Windows {
		if !overlaps(w.From, w.To, f.From, f.To) {
			continue
		}
		label := strings.TrimSpace(w.Fault + " " + w.Target())
		if w.Hits == 0 && !w.Open {
			label += " (hit nothing)"
		}
		bars = append(bars, bar{From: w.From, To: w.To, Look: barFault, Client: history.NoClient, Fault: w.Fault, Label: label, Title: f.fault(w)})
	}
	lanes := stack(bars, faultLane, "faults", 4, (f.To-f.From)/6)
	for _, op := range f.Ops {
		if op.F == history.FHealed && len(lanes) > 0 {
			label := "all healed"
			if hung := facts.HungClients(f.Ops); len(hung) > 0 {
				label += " but " + wording.List(hung)
			}
			lanes[0].Marks = append(lanes[0].Marks, mark{At: op.Time, Look: markEvent, Client: history.NoClient, Label: label, Title: line("nemesis", label, op.Time, op.Time, false)})
			lanes[0] = lanes[0].within(f.From, f.To)
		}
	}
	return lanes
}

func label(f story.Finding) string { return f.Oracle + ": " + string(f.Cause) }

// findingLanes stacks the findings about the lock of the finding in focus.
func findingLanes(f titles) []lane {
	bars := []bar{{From: f.Finding.From, To: endOfFinding(f.Finding, f.Focus), Look: barFinding, Client: history.NoClient, Label: label(f.Finding), Title: f.finding(f.Finding)}}
	var others []bar
	count := map[int]int{}
	for _, o := range f.Others {
		end := endOfFinding(o, f.Focus)
		if o.Lock != f.Finding.Lock || !overlaps(o.From, end, f.From, f.To) {
			continue
		}
		// Overlapping findings with the same label become one bar.
		i := slices.IndexFunc(others, func(b bar) bool { return b.Label == label(o) && overlaps(o.From, end, b.From, b.To) })
		if i < 0 {
			i = len(others)
			others = append(others, bar{From: o.From, To: end, Look: barOther, Client: history.NoClient, Label: label(o), Title: f.finding(o)})
		}
		others[i].From, others[i].To = min(others[i].From, o.From), max(others[i].To, end)
		count[i]++
	}
	for i, n := range count {
		if n > 1 {
			others[i].Label += fmt.Sprintf(" (%d)", n)
		}
	}
	return stack(append(bars, others...), findingLane, "found", 4, (f.To-f.From)/5)
}

func endOfFinding(x story.Finding, f story.Focus) time.Duration {
	if x.Forever {
		return f.End
	}
	return max(x.From, x.To)
}

func overlaps(from, to, a, b time.Duration) bool { return from <= b && to >= a }

// stack puts bars on lanes so that none overlap and each has room for its label. most is the
// maximum number of lanes; bars that would need more lanes are omitted.
func stack(bars []bar, kind laneKind, label string, most int, room time.Duration) []lane {
	slices.SortStableFunc(bars, func(a, b bar) int { return cmp.Compare(a.From, b.From) })
	var lanes []lane
	var ends []time.Duration
	for _, b := range bars {
		i := slices.IndexFunc(ends, func(end time.Duration) bool { return end <= b.From })
		if i < 0 && len(lanes) < most {
			lanes, ends = append(lanes, lane{Kind: kind}), append(ends, 0)
			i = len(lanes) - 1
		}
		if i < 0 {
			continue // no room
		}
		lanes[i].Bars = append(lanes[i].Bars, b)
		ends[i] = max(b.To, b.From+room)
	}
	if len(lanes) > 0 {
		lanes[0].Label = label
	}
	return lanes
}

// newClientLane shows one client's operations, believed holds and events.
func newClientLane(client int, f titles) lane {
	mine := func(w facts.Window) bool { return slices.Contains(w.AimedAt(), client) }
	l := lane{Kind: clientLane, Label: history.ClientName(client), Shades: shades(f.Windows, mine)}
	lock := f.Finding.Lock
	end := crashOf(client, f.Ops, f.End)
	l.Bars = waits(client, f)
	for _, p := range f.Pairs {
		waits := p.Invoke.F == history.FAcquire && p.Done() == history.Fail
		if waits || p.Invoke.Client != client || p.Invoke.Process == history.Nemesis || (lock != "" && p.Invoke.Lock != lock) {
			continue
		}
		done := end
		if p.Complete != nil {
			done = p.Complete.Time
		}
		if overlaps(p.Invoke.Time, done, f.From, f.To) {
			l.operation(p, end, f)
		}
	}
	for _, h := range f.Holds {
		if h.Client == client && (lock == "" || h.Lock == lock) && overlaps(h.From, h.To, f.From, f.To) {
			l.Bars = append(l.Bars, holdBars(h, f)...)
		}
	}
	for _, op := range f.Ops {
		if op.Client != client {
			continue
		}
		if op.F == history.FLost || op.EventKind().Of == history.OfClient {
			l.marked(op)
		}
		if op.Event(history.FCrash) {
			l.Dead = op.Time
		}
	}
	return l.within(f.From, f.To)
}

// eventMarks are the marks of events on the lanes of their clients and nodes. Marks of keys show
// evictions and moved slots; lane.split marks splits.
var eventMarks = map[string]struct {
	shape *look
	label string
}{
	history.FLost:      {markLost, "told: lost"},
	history.FCrash:     {markCrash, "crash"},
	history.FHung:      {markEvent, "hangs"},
	history.FClock:     {markEvent, "clock"},
	history.FNodeDown:  {markCrash, "killed"},
	history.FNodeUp:    {markEvent, "back"},
	history.FPromote:   {markEvent, "promoted"},
	history.FNodeClock: {markEvent, "clock"},
}

// marked adds the mark of an event, if the event has one.
func (l *lane) marked(op history.Op) {
	m, ok := eventMarks[op.F]
	if !ok {
		return
	}
	if op.EventKind().HasOffset {
		m.label += fmt.Sprintf(" %+.4g s", op.Offset.Seconds())
	}
	l.event(op, m.shape, m.label)
}

// event adds the mark of an event of the lane's client or node.
func (l *lane) event(op history.Op, shape *look, label string) {
	who := op.Node
	if op.Client >= 0 {
		who = history.ClientName(op.Client)
	}
	l.Marks = append(l.Marks, mark{At: op.Time, Look: shape, Client: op.Client, Label: label, Title: line(who, label, op.Time, op.Time, false)})
}

// crashOf returns when the client crashed; end if it did not crash.
func crashOf(client int, ops []history.Op, end time.Duration) time.Duration {
	for _, op := range ops {
		if op.Event(history.FCrash) && op.Client == client {
			return op.Time
		}
	}
	return end
}

// holdBars returns the bar of a believed hold. If the hold's key was gone before the hold ended, the
// time without the key is a bar of its own.
func holdBars(h checker.Hold, t titles) []bar {
	b := bar{From: h.From, To: min(h.To, t.End), Look: barHold, Client: h.Client, Label: "holds"}
	switch h.Mode {
	case history.Read:
		b.Look, b.Label = barRead, "reads"
	case history.Write:
		b.Label = "writes"
	}
	gone, ok := keyGone(h, t.Focus)
	if !ok {
		b.Title = t.hold(h, b)
		return []bar{b}
	}
	after := b
	after.From, after.Look, after.Label = gone, barGone, b.Label+", its key is gone"
	b.To = gone
	b.Title, after.Title = t.hold(h, b), t.hold(h, after)
	if b.To <= b.From {
		return []bar{after}
	}
	return []bar{b, after}
}

// operation adds the bar of an operation or, for a successful read or write, the mark. Reads and
// writes that did not succeed have neither. Believed holds have their own bars.
func (l *lane) operation(p history.Pair, end time.Duration, t titles) {
	c := p.Invoke.Client
	b := bar{From: p.Invoke.Time, To: end, Look: barUnknown, Client: c, Label: p.Invoke.F + " ?", Title: t.operation(p)}
	if p.Complete != nil {
		b.To = p.Complete.Time
		switch p.Complete.Type {
		case history.OK:
			b.Look, b.Label = barAttempt, ""
		case history.Fail:
			b.Look, b.Label = barBusy, ""
		}
	}
	switch p.Invoke.F {
	case history.FRead, history.FWrite:
		if b.Look == barAttempt {
			shape := markRead
			if p.Invoke.F == history.FWrite {
				shape = markWrite
			}
			l.Marks = append(l.Marks, mark{At: b.To, Look: shape, Client: c, Title: b.Title})
		}
	default:
		l.Bars = append(l.Bars, b)
	}
}

func shades(wins []facts.Window, here func(facts.Window) bool) []shade {
	var out []shade
	for _, w := range wins {
		if here(w) {
			out = append(out, shade{From: w.From, To: w.To, Fault: w.Fault})
		}
	}
	return out
}

// nodeLanes shows the life of the keys, with one lane for each node and key.
func nodeLanes(f titles) []lane {
	index := map[keyspace.NodeKey]int{}
	var lanes []lane
	perNode := map[string]int{}
	for _, n := range f.LockKeys {
		perNode[n.Node]++
	}
	for _, n := range f.LockKeys {
		index[n] = len(lanes)
		label := n.Node
		if perNode[n.Node] > 1 {
			label += " " + n.Key
		}
		if f.Counts(n) {
			label += ", a counter"
		}
		lanes = append(lanes, lane{Kind: nodeLane, Label: label, Node: n.Node, Shades: shades(f.Windows, func(w facts.Window) bool { return w.AimsAtNode(n.Node) })})
	}
	for _, s := range f.Spans {
		i, ok := index[s.NodeKey]
		if !ok {
			continue
		}
		b := bar{From: s.From, To: s.To, Look: barKey, Client: s.Owner, Label: fmt.Sprintf("c%d's key", s.Owner)}
		if s.Forever {
			b.Look = barKeyEver
			b.Label += ", no expiry"
		}
		b.Title = line(s.Node, b.Label, b.From, b.To, false)
		lanes[i].Bars = append(lanes[i].Bars, b)
	}
	for _, x := range f.Events {
		if i, ok := index[x.NodeKey]; ok && overlaps(x.At, x.At, f.From, f.To) {
			lanes[i].Marks = append(lanes[i].Marks, keyMark(x, f))
		}
	}
	for _, op := range f.Ops {
		for i := range lanes {
			if lanes[i].Node == op.Node && op.EventKind().Of == history.OfNode {
				lanes[i].marked(op)
			}
		}
	}
	splits, first := facts.Splits(f.Ops), ""
	if len(f.Commands) > 0 {
		first = f.Commands[0].Node // before any promotion
	}
	_, gone := facts.Downs(f.Ops)
	for i := range lanes {
		lanes[i].Dead = gone[lanes[i].Node]
		lanes[i].split(lanes[i].Node, first, splits)
		lanes[i] = lanes[i].within(f.From, f.To)
	}
	return lanes
}

// split marks the beginning of each split that made the node a second primary, and the end of each split
// in which another node replaced it. first is the primary from the start.
func (l *lane) split(node, first string, splits []facts.Split) {
	for _, s := range splits {
		switch {
		case s.Node == node:
			l.event(history.Op{Time: s.From, Client: history.NoClient, Node: node}, markEvent, "primary for "+wording.List(s.Clients))
		case s.To > 0 && cmp.Or(s.Old, first) == node:
			l.event(history.Op{Time: s.To, Client: history.NoClient, Node: node}, markEvent, "demoted")
		}
	}
}

// keyLooks are the looks of the events of keys.
var keyLooks = map[facts.Kind]*look{
	facts.Set: markSet, facts.Renewed: markRenewed, facts.Persisted: markRenewed, facts.Deleted: markDeleted,
	facts.Expired: markExpired, facts.Gone: markExpired, facts.Lost: markGone, facts.Evicted: markGone, facts.Moved: markGone,
}

func keyMark(x facts.Event, t titles) mark {
	m := mark{At: x.At, Look: keyLooks[x.Kind], Client: x.Client, Foreign: x.Foreign(), Title: t.keyEvent(x)}
	if m.Look == markGone || x.Kind == facts.Gone {
		m.Label = string(x.Kind)
	}
	return m
}

// within drops the bars, marks and shades outside the interval.
func (l lane) within(from, to time.Duration) lane {
	for i := range l.Bars {
		l.Bars[i].Refused = slices.DeleteFunc(l.Bars[i].Refused, func(x span) bool { return !overlaps(x.From, x.To, from, to) })
	}
	l.Bars = slices.DeleteFunc(l.Bars, func(b bar) bool { return !overlaps(b.From, b.To, from, to) })
	l.Marks = slices.DeleteFunc(l.Marks, func(m mark) bool { return m.At < from || m.At > to })
	l.Shades = slices.DeleteFunc(l.Shades, func(s shade) bool { return !overlaps(s.From, s.To, from, to) })
	return l
}
