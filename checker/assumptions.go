package checker

import (
	"math"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file names the assumption of leases that a trial broke. A lease promises
// something only as long as clients stop in time, messages come soon or never,
// nodes keep what they acknowledged, and clocks agree. The evidence alone shows which of
// these did not hold. If all of them held, no assumption was broken.

// suspicion is a finding on its way to the assumption behind it.
type suspicion struct {
	Finding
	// first is the grant of the robbed party, or the one that kept others out; nil if
	// it is not known.
	first *keyspace.Grant
	cmds  []int // places of the telling commands
}

// assumption tells what was broken, nil if nothing was.
type assumption func(*wire, suspicion) *Assumption

// assumptions are the places to look at, by cause. A cause that is missing here is the
// protocol's own doing.
var assumptions = map[Cause]assumption{
	LeaseOutlived: (*wire).overstayed,
	RenewalFailed: (*wire).cutFromRenewing,
	ServerLostKey: (*wire).forgotten,
	ServerClock:   (*wire).nodeClockWrong,
	ClientClock:   (*wire).clientClockWrong,
	OrphanedKey:   (*wire).leftBehind,
	NoExpiry:      (*wire).leftBehind,
	LateCommand:   (*wire).late,
	ForeignDelete: (*wire).deletedAfter,
}

// broken is the assumption that did not hold.
func (w *wire) broken(s suspicion) *Assumption {
	ask := assumptions[s.Cause]
	if ask == nil {
		return nil
	}
	return ask(w, s)
}

// notable is the shortest delay that is told of.
func (w *wire) notable() time.Duration { return max(w.Claims.TTL/20, time.Millisecond) }

// overstayed tells of a lease that ended under its holder while the holder went on.
func (w *wire) overstayed(s suspicion) *Assumption {
	l := s.first
	if l == nil {
		return nil
	}
	ended := w.lapsed(l)
	since := w.asked(l)
	earliest := ended
	if l.End != nil && l.End.How == keyspace.Expired {
		earliest = min(ended, l.End.At.Lo)
	}
	// Only a client that stood still at the end of the lease could not see the end.
	if but, froze := w.standstill(l.Client, earliest, ended+1, ended); froze {
		return &Assumption{ClientStops, but}
	}
	if pos, ok := w.slowest(l.Client, since, s.To); ok {
		return &Assumption{InTime, w.delay(pos)}
	}
	until := max(s.To, s.From)
	if h := w.hold(l); h != nil {
		until = max(until, within(w.Evidence, h.To))
	}
	return &Assumption{ClientStops, Fact{What: workedOn, Clients: []int{l.Client}, Until: until, Since: l.At.Mid(), At: ended}}
}

// lapsed is when the claim ended: when its key expired, else when it was overwritten or
// gone, but at the end of the lease at the latest.
func (w *wire) lapsed(l *keyspace.Grant) time.Duration {
	lease := l.At.Lo + w.Claims.TTL
	switch {
	case l.End != nil && l.End.How == keyspace.Expired:
		return l.End.At.Mid()
	case l.Over != nil:
		return min(lease, l.Over.At.Lo)
	case l.End != nil:
		return min(lease, l.End.At.Lo)
	}
	return lease
}

// cutFromRenewing tells of renewals that did not come, or came too late.
func (w *wire) cutFromRenewing(s suspicion) *Assumption {
	l := s.first
	if l == nil {
		return nil
	}
	until := max(w.lapsed(l), l.At.Hi)
	for _, pos := range w.renewals() {
		c := w.Commands[pos]
		if c.Client != l.Client || c.Sent < l.At.Lo || c.Sent > until || !w.renews(pos, l) {
			continue
		}
		if told := w.unanswering(pos); told != nil {
			return told
		}
		if w.lateness(c) > w.notable() {
			return &Assumption{InTime, w.delay(pos)}
		}
	}
	if but, froze := w.standstill(l.Client, l.At.Lo, until, until); froze {
		return &Assumption{ClientRenews, but}
	}
	if told := w.upheaval(l, until); told != nil {
		return told
	}
	return w.struck(l, until)
}

// leftBehind tells of an owner that could not remove its key, or did not know that it had
// to.
func (w *wire) leftBehind(s suspicion) *Assumption {
	l := s.first
	if l == nil {
		return nil
	}
	if at, crashed := w.crashes[l.Client]; crashed && at <= s.To {
		return &Assumption{ClientLives, Fact{What: hasCrashed, Clients: []int{l.Client}, At: at}}
	}
	since := w.asked(w.oldest(l))
	if pos, ok := w.firstLoss(l, since, s.To); ok {
		return w.unanswering(pos)
	}
	if but, froze := w.standstill(l.Client, since, s.To, s.From); froze {
		return &Assumption{ClientReturns, but}
	}
	if pos, ok := w.slowest(l.Client, since, s.To); ok {
		return &Assumption{InTime, w.delay(pos)}
	}
	if told := w.upheaval(l, s.To); told != nil {
		return told
	}
	return w.struck(l, s.To)
}

// asked is when the operation of the claim began.
func (w *wire) asked(l *keyspace.Grant) time.Duration {
	if p := w.operation(l.Op); w.has(l.Op) {
		return min(l.At.Lo, p.Invoke.Time)
	}
	return l.At.Lo
}

// oldest is the owner's first claim since which the key has carried claims of that owner
// without a break. A lock that counts its owner's entries is not free before the last of
// them has left.
func (w *wire) oldest(l *keyspace.Grant) *keyspace.Grant {
	before := map[*keyspace.Grant]*keyspace.Grant{}
	for _, x := range w.Grants {
		if o := x.Over; o != nil && o.Client == x.Client && o.Node == x.Node && o.Place == x.Place && x.OverSeq < endSeq(x) {
			before[o] = x
		}
	}
	for n := len(w.Grants); before[l] != nil && n > 0; n-- {
		l = before[l]
	}
	return l
}

// endSeq is the Seq of the claim's end; the greatest there is if it did not end.
func endSeq(l *keyspace.Grant) int {
	if l.End == nil {
		return math.MaxInt
	}
	return l.End.Seq
}

// firstLoss is the first command about the claim that was not answered. The owner of the
// claim sent it between the two times. A command to the claim's node comes before
// others; among these a command that did not arrive comes first.
func (w *wire) firstLoss(l *keyspace.Grant, since, until time.Duration) (first int, ok bool) {
	best := 0
	for pos, c := range w.Commands {
		if c.Client != l.Client || c.Sent < since || c.Sent > until || !w.Reaches(pos, l.Key) || w.unanswering(pos) == nil {
			continue
		}
		weight := 1
		if c.Node == l.Node {
			weight += 2
		}
		if c.Arrived == 0 {
			weight++
		}
		if weight > best {
			first, ok, best = pos, true, weight
		}
	}
	return first, ok
}

// late tells of an old command that arrived at last.
func (w *wire) late(s suspicion) *Assumption {
	latest := -1
	for _, pos := range s.cmds {
		if latest < 0 || w.Ran(pos).Lo-w.Commands[pos].Sent > w.Ran(latest).Lo-w.Commands[latest].Sent {
			latest = pos
		}
	}
	if latest < 0 {
		return nil
	}
	return &Assumption{InTime, w.arrival(latest)}
}

// deletedAfter tells why a client deleted the key of another: it had been held up, or it
// had lost its own grant.
func (w *wire) deletedAfter(s suspicion) *Assumption {
	if s.first == nil || len(s.cmds) < 2 {
		return nil
	}
	pos := s.cmds[len(s.cmds)-1]
	c := w.Commands[pos]
	if w.Ran(pos).Lo-c.Sent > w.notable() {
		return &Assumption{InTime, w.arrival(pos)}
	}
	var own *keyspace.Grant
	for _, l := range w.Grants {
		if l.Client == c.Client && l.Key == s.first.Key && l.Seq < s.first.Seq && (own == nil || own.Seq < l.Seq) {
			own = l
		}
	}
	if own == nil || own.End == nil || own.End.Seq > s.first.Seq {
		return nil
	}
	s.first = own
	s.From, s.To = w.Ran(pos).Lo, w.Ran(pos).Lo
	switch own.End.How {
	case keyspace.Expired:
		if last := own.Last(); last.Moved < 0 {
			return w.nodeClockWrong(s)
		}
		return w.overstayed(s)
	case keyspace.Lost:
		return w.forgotten(s)
	}
	return nil
}

// standstill tells of the client's longest freeze between the two times. Freezes that
// still lasted at the deadline come before all others. In a freeze the nemesis had a
// window open on the client itself, and the client recorded nothing and sent nothing.
func (w *wire) standstill(client int, since, until, deadline time.Duration) (told Fact, froze bool) {
	var best spell
	score := func(s spell) (bool, time.Duration) { return s.to > deadline, min(s.to, until) - max(s.from, since) }
	for _, win := range w.windows {
		if win.Invoke.Client != client || win.Invoke.Window == nil || !targets(win.Invoke.Window, client) {
			continue
		}
		s := spell{win.Invoke.Time, w.end}
		if win.Complete != nil {
			s.to = win.Complete.Time
		}
		if s.from >= until || s.to <= since || s.to-s.from <= w.notable() || w.stirs(client, s) {
			continue
		}
		over, long := score(s)
		wasOver, wasLong := score(best)
		if !froze || over && !wasOver || over == wasOver && long > wasLong {
			best, froze = s, true
			told = Fact{What: wasFrozen, Clients: []int{client}, Since: s.from, Until: s.to, Fault: win.Invoke.Window.Fault}
		}
	}
	return told, froze
}

// targets says whether the window is over the client and nothing else.
func targets(win *history.Window, client int) bool {
	switch len(win.Clients) + len(win.Nodes) + len(win.Links) {
	case 0:
		return true
	case 1:
		return slices.Contains(win.Clients, client)
	}
	return false
}

// stirs says whether the client did anything in that time, or crashed by its end.
func (w *wire) stirs(client int, s spell) bool {
	if w.crashOf(client) <= s.to {
		return true
	}
	for _, op := range w.Ops {
		if op.Process != history.Nemesis && op.Client == client && s.from < op.Time && op.Time < s.to {
			return true
		}
	}
	for _, c := range w.Commands {
		if c.Client == client && s.from < c.Sent && c.Sent < s.to {
			return true
		}
	}
	return false
}

// struck tells of a fault whose window covered the client or the claim's node.
func (w *wire) struck(l *keyspace.Grant, until time.Duration) *Assumption {
	for _, win := range w.windows {
		over := win.Invoke.Window
		to := w.end
		if win.Complete != nil {
			to = win.Complete.Time
		}
		if over == nil || win.Invoke.Time >= until || to <= l.At.Lo {
			continue
		}
		if but := among(l, over); but.What != "" {
			but.Since, but.Until, but.Fault = win.Invoke.Time, to, over.Fault
			return &Assumption{Answered, but}
		}
	}
	return nil
}

// among names the claim's client, the claim's node or a link of that client, whichever the
// window strikes.
func among(l *keyspace.Grant, win *history.Window) Fact {
	switch {
	case slices.Contains(win.Clients, l.Client):
		return Fact{What: wasStruck, Clients: []int{l.Client}}
	case slices.Contains(win.Nodes, l.Node):
		return Fact{What: wasStruck, Nodes: []string{l.Node}}
	}
	for _, link := range win.Links {
		if c, ok := link.Client(); ok && c == l.Client {
			return Fact{What: wasStruck, Clients: []int{c}, Link: &link}
		}
	}
	return Fact{}
}
