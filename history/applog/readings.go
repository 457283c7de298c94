package applog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Doubts are facts that the log does not tell. The user states them.
type Doubts struct {
	// ClockError is the farthest that the clock of any client may have been from true time.
	ClockError time.Duration
	// ReleaseTakes is the longest time from a release's invocation, when the client stops using the
	// lock, to the time that the log gives for that release. It is negative if unknown.
	ReleaseTakes time.Duration
	// UnendedHeld: a hold without an end lasted until the end of the log. Otherwise it may
	// have ended at once, or never.
	UnendedHeld bool
}

// Readings are two histories that bound what a log of holds or completions can mean. In
// both, each hold is an acquire and a release of a process of its own.
type Readings struct {
	// Certain has the spans for which each hold lasted even with the greatest clock error. Holds
	// without such a span are left out. Overlaps of these spans are certain.
	Certain []history.Op
	// Possible has the spans for which each hold may have lasted. If these spans do not overlap, no
	// holds did.
	Possible []history.Op
	// Lines[i] is the line in the log of the hold that Certain[i] belongs to. LinesPossible is the
	// same for Possible.
	Lines, LinesPossible []int
	// Slack is the greatest error of a time: ClockError plus the digits that the log cut off.
	Slack time.Duration
	// Brief is the number of holds without a certain span, because they are short or the
	// log does not say when they began or ended.
	Brief int
	// Twice are the lines of two holds of one lock by one client in one mode that certainly overlap;
	// 0 if there are none.
	Twice [2]int
}

// span is the time for which a hold lasts; to is the constant never if the hold has no end.
type span struct {
	hold     *Hold
	client   int
	from, to time.Duration
}

const never = time.Duration(1<<63 - 1)

// Readings returns what a log of holds or completions can mean. A log of entries has
// none.
//
// Times are taken as cut off and not rounded: a time that is written in whole milliseconds may be
// up to a millisecond later.
func (l *Log) Readings(d Doubts) Readings {
	cut := max(l.Fine, 1)
	if cut == 1 {
		cut = 0 // whole nanoseconds are exact
	}
	r := Readings{Slack: d.ClockError + cut}
	takes := d.ReleaseTakes
	if l.Kind == Holds {
		takes = max(takes, 0) // if unknown, To counts as the time at which the client stopped
	}
	var certain, possible []span
	for i := range l.Holds {
		h := &l.Holds[i]
		s := span{hold: h, client: h.Client, from: h.From + cut + d.ClockError, to: h.To - d.ClockError}
		known := !h.Unbegun
		switch {
		case h.Unended:
			known = known && d.UnendedHeld
			s.to = l.End - d.ClockError
		default:
			known = known && takes >= 0
			s.to -= takes
		}
		if h.Until != 0 {
			s.to = min(s.to, h.Until-d.ClockError)
		}
		if known && s.from < s.to {
			certain = append(certain, s)
		} else {
			r.Brief++
		}
		if s := l.possible(h, d, cut); s.to == never || s.from < s.to {
			possible = append(possible, s)
		}
	}
	r.Certain, r.Lines = opsOf(certain, 0)
	r.Possible, r.LinesPossible = opsOf(possible, d.ClockError) // shifted: no time is negative
	r.Twice = twice(certain)
	return r
}

// possible returns the longest span that a hold may have had.
func (l *Log) possible(h *Hold, d Doubts, cut time.Duration) span {
	s := span{hold: h, client: h.Client, from: h.From - d.ClockError, to: h.To + d.ClockError + cut}
	if h.Unbegun {
		s.from = -d.ClockError
	}
	until := h.Until + d.ClockError + cut
	switch {
	case h.Unended && h.Until != 0:
		s.to = until
	case h.Unended:
		s.to = never
	case h.Until != 0:
		s.to = min(s.to, until)
	}
	return s
}

// twice returns the lines of two overlapping spans of one client, mode and lock; zeros if there are
// none.
func twice(spans []span) [2]int {
	last := map[owned]span{}
	byFrom := slices.SortedStableFunc(slices.Values(spans), func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range byFrom {
		o := owned{s.client, s.hold.Lock, s.hold.Mode}
		if before, ok := last[o]; ok && s.from < before.to {
			return [2]int{before.hold.Line, s.hold.Line}
		}
		if s.to > last[o].to {
			last[o] = s
		}
	}
	return [2]int{}
}

// opsOf returns spans as acquires and releases, all later by shift, with the line of each entry's hold. At
// one instant releases come first: a hold that begins when another ends does not overlap it.
func opsOf(spans []span, shift time.Duration) (ops []history.Op, lines []int) {
	type entry struct {
		op   history.Op
		line int
	}
	var all []entry
	for n, s := range spans {
		op := history.Op{
			Process: history.Process(n), Client: s.client, Lock: s.hold.Lock, Mode: s.hold.Mode,
			Lease: &history.Lease{Token: fmt.Sprintf("line %d", s.hold.Line)},
		}
		add := func(f string, kind history.Type, at time.Duration) {
			op.F, op.Type, op.Time = f, kind, at+shift
			all = append(all, entry{op, s.hold.Line})
		}
		add(history.FAcquire, history.Invoke, s.from)
		add(history.FAcquire, history.OK, s.from)
		if s.to != never {
			add(history.FRelease, history.Invoke, s.to)
			add(history.FRelease, history.OK, s.to)
		}
	}
	rank := func(op history.Op) int {
		if op.F == history.FRelease {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.op.Time, b.op.Time), cmp.Compare(rank(a.op), rank(b.op)))
	})
	for i, e := range all {
		e.op.Index = i
		ops, lines = append(ops, e.op), append(lines, e.line)
	}
	return ops, lines
}
