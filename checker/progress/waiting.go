package progress

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
)

// Waiting has the waits of a trial's clients around a fault. It covers the time from one lease time
// before the fault to WaitingSpan after it, or until the next fault. Times are whole tenths of a
// lease time, counted from the moment at which the fault struck.
type Waiting struct {
	// Ends is the end of the fault: 0 if it was momentary. Until is the end of the covered time; a
	// wait that begins later does not count.
	Ends  int `json:"ends"`
	Until int `json:"until"`
	// Waits has the beginning and the length of each wait for a lock, sorted. The length is Forever
	// if the wait did not end although the trial went on for a lease time.
	Waits [][2]int `json:"waits"`
}

const (
	// Forever stands for the length of a wait that did not end.
	Forever = -1
	// WaitingTick is the number of ticks in one lease time. A tick is the time unit of a Waiting.
	WaitingTick = 10
	// WaitingSpan is the greatest Waiting.Until: four lease times.
	WaitingSpan = 4 * WaitingTick
)

// WaitingAround returns the clients' waits around the first window of the given fault that hit something,
// or of any fault if fault is "". It returns nil if there is no such window, if nobody waited, if the
// recipe claims no lease time, or if the history is impossible. It leaves out waits that ended with the
// client's crash, and waits that the trial's end cut short within a lease time. The case is the one inside
// a checker.Case.
func WaitingAround(c *evidence.Case, fault string) *Waiting {
	rp := c.Replay()
	if rp.Claims.TTL <= 0 {
		return nil
	}
	first, next, ok := firstFault(rp, fault)
	if !ok {
		return nil
	}
	unit := rp.Claims.TTL / WaitingTick
	ticks := func(t time.Duration) int { return int((t-first.From+WaitingTick*unit)/unit) - WaitingTick } // rounded down
	w := Waiting{Ends: ticks(first.To), Until: min(ticks(next), WaitingSpan)}
	add := func(since time.Duration, length int) {
		if from := max(ticks(since), -WaitingTick); from < w.Until {
			w.Waits = append(w.Waits, [2]int{from, length})
		}
	}
	m := newMeasure(rp)
	m.waits()
	for _, q := range m.ended {
		if since := max(q.since, first.From-rp.Claims.TTL); q.till >= since {
			add(since, ticks(q.till)-ticks(since))
		}
	}
	for at, since := range m.open {
		if rp.CrashOf(at.Client) > rp.End && rp.End-max(since, first.From) >= rp.Claims.TTL {
			add(since, Forever)
		}
	}
	if len(w.Waits) == 0 {
		return nil
	}
	slices.SortFunc(w.Waits, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return &w
}

// firstFault returns the time of the first window of the fault that hit something, joined with the
// windows that begin before it ends. next is the beginning of the next window after these; without
// one, it is the time at which all faults were healed, or the trial's end.
func firstFault(rp *evidence.Replay, fault string) (first evidence.Interval, next time.Duration, ok bool) {
	next = rp.End
	for _, op := range rp.Ops {
		if op.Process == history.Nemesis && op.F == history.FHealed {
			next = op.Time
		}
	}
	for _, win := range rp.Windows {
		if win.Complete == nil || win.Complete.Window == nil || win.Complete.Window.Hits == 0 {
			continue
		}
		from, to := win.Invoke.Time, min(win.Complete.Time, next)
		switch {
		case !ok && (fault == "" || win.Complete.Window.Fault == fault):
			first, ok = evidence.Interval{From: from, To: to}, true
		case ok && from <= first.To:
			first.To = max(first.To, to)
		case ok:
			return first, min(next, from), true
		}
	}
	return first, next, ok
}
