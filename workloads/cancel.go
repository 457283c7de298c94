package workloads

import (
	"context"
	"math"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// cancel has clients with little patience, like a service whose request is over: the
// context of an attempt ends between two of its commands, during one, or while it waits
// for others. Half of the contexts have a deadline, which a client library may check in
// advance; the others are cancelled. What such an attempt leaves on the nodes keeps
// others out, though nobody died and nothing was lost.
var cancel = Workload{
	Name:    "cancel",
	Doc:     "attempts to get in have deadlines or are cancelled half-way, at any moment",
	Like:    []string{"client-crash", "lost-reply", "reset"},
	Suits:   func(c history.Claims) bool { return !c.ReadWrite },
	choose:  cancelChoice,
	section: mutexSection,
	values:  1,
	quits:   true,
}

const (
	// patientSections is the share of critical sections without a patience.
	patientSections = 1.0 / 5
	// leastPatience is shorter than any command takes.
	leastPatience = 50 * time.Microsecond
	// offBeat separates the end of a client's patience from its other actions, which
	// happen at whole microseconds.
	offBeat = 500 * time.Nanosecond
)

// cancelChoice draws a client's patience: from less than a command takes up to a lease,
// each order of magnitude equally often.
func cancelChoice(s *Section, o Options, own float64) {
	if own < patientSections {
		return
	}
	scale := (own - patientSections) / (1 - patientSections)
	most := max(float64(o.TTL), float64(2*leastPatience))
	patience := float64(leastPatience) * math.Pow(most/float64(leastPatience), scale)
	s.Patience = time.Duration(patience).Truncate(time.Microsecond) + offBeat
	s.Cancel = int(scale*(1<<20))%2 == 1
}

// asking is the context for acquiring the lock of the current section: it ends with the
// client's patience, or by stop. In the liveness phase, where everybody waits for a
// turn, only the phase's own end limits it.
func (s *session) asking(all context.Context) (ctx context.Context, stop context.CancelFunc) {
	switch {
	case s.current.Patience == 0 || s.healing():
		return all, func() {}
	case !s.current.Cancel:
		deadline := time.Now().Add(s.current.Patience)
		ctx, stop = context.WithDeadline(all, deadline.Add(-early))
		return deadlined{ctx, deadline}, stop
	}
	ctx, cancel := context.WithCancel(all)
	timer := time.AfterFunc(s.current.Patience, cancel)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}

// early is by how much a context ends before its deadline. On a virtual clock, a
// connection that waits until the deadline would wake in the instant in which the
// context ends, and see either state.
const early = 100 * time.Nanosecond

// deadlined is a context that announces that deadline but ends a moment before.
type deadlined struct {
	context.Context
	deadline time.Time
}

// Deadline implements context.Context.
func (d deadlined) Deadline() (time.Time, bool) { return d.deadline, true }
