package applog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Readings are two histories that bound what a log can mean. In both, each hold is an acquire and a
// release of a process of its own.
type Readings struct {
	// Certain has the spans for which each hold lasted even with the greatest clock error, without
	// the holds that have no such span. Overlaps of these spans are certain.
	Certain []history.Op
	// Possible has the spans for which each hold may have lasted. If these do not overlap, no holds did.
	Possible []history.Op
	// Lines[i] is the line of the hold that Certain[i] belongs to; LinesPossible is the same for Possible.
	Lines, LinesPossible []int
	Slack                time.Duration // the greatest error of a time: the clock error and the digits that the log cut off
	Brief                int           // how many holds have no certain span
	Twice                [2]int        // lines of two certain holds of one lock by one process at once; 0 if there are none
}

// Readings returns what the log can mean, in times since its earliest From. clockError is the farthest
// that the clock of any process was from true time. Times are taken as cut off and not rounded.
func (l *Log) Readings(clockError time.Duration) Readings {
	r := Readings{Slack: clockError}
	if l.Fine > 1 { // whole nanoseconds are exact
		r.Slack += l.Fine
	}
	var certain, possible []Hold
	latest := map[Hold]Hold{} // by client, lock and mode
	for _, h := range l.Holds {
		sure, end := h, min(h.To, h.Until)
		sure.From, sure.To = h.From+r.Slack, end-clockError
		if h.To != Never && sure.From < sure.To {
			use := Hold{Client: h.Client, Lock: h.Lock, Mode: h.Mode}
			if before := latest[use]; sure.From < before.To && r.Twice[0] == 0 {
				r.Twice = [2]int{before.Line, h.Line}
			}
			latest[use] = sure
			certain = append(certain, sure)
		}
		h.From, h.To = h.From-clockError, end
		if end != Never {
			h.To += r.Slack
		}
		if h.From < h.To {
			possible = append(possible, h)
		}
	}
	r.Brief = len(l.Holds) - len(certain)
	r.Certain, r.Lines = opsOf(certain, l.Holds[0].From)
	r.Possible, r.LinesPossible = opsOf(possible, l.Holds[0].From-clockError) // so that no time is negative
	return r
}

// opsOf returns holds as acquires and releases at times since zero, with the line of each entry's hold.
// At one instant releases come first: a hold that begins when another ends does not overlap it.
func opsOf(holds []Hold, zero time.Duration) (ops []history.Op, lines []int) {
	for n, h := range holds {
		op := history.Op{Index: h.Line, Process: history.Process(n), Client: h.Client, Lock: h.Lock, Mode: h.Mode, Lease: &history.Lease{Token: fmt.Sprint("line ", h.Line)}}
		add := func(f string, at time.Duration) {
			op.F, op.Time = f, at-zero
			for _, op.Type = range []history.Type{history.Invoke, history.OK} {
				ops = append(ops, op)
			}
		}
		add(history.FAcquire, h.From)
		if h.To != Never {
			add(history.FRelease, h.To)
		}
	}
	slices.SortStableFunc(ops, func(a, b history.Op) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), -cmp.Compare(a.F, b.F)) // "release" before "acquire"
	})
	for i := range ops {
		lines = append(lines, ops[i].Index)
		ops[i].Index = i
	}
	return ops, lines
}
