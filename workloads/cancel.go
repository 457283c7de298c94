package workloads

import (
	"context"
	"math"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// cancel has impatient clients, like a service whose request has ended. The context of an attempt
// ends between two of its commands, during a command, or while the attempt waits for others. Half
// of the contexts have a deadline, which a client library may check in advance; the others are
// cancelled. Keys that such an attempt leaves on the nodes keep others out, although no client
// died and no message was lost.
var cancel = Workload{
	Name:     "cancel",
	Doc:      "attempts to take the lock have deadlines, or are cancelled half-way, at any moment",
	Standard: true,
	Like:     []string{"client-crash", "lost-reply", "reset"},
	Suits:    func(c history.Claims) bool { return !c.ReadWrite },
	Asks:     func(c history.Claims) bool { return c.Waits },
	choose:   cancelChoice,
	body:     incrementOnce,
	values:   1,
}

const (
	// patientSections is the share of critical sections with unlimited patience.
	patientSections = 1.0 / 5
	// leastPatience is shorter than any command takes.
	leastPatience = 50 * time.Microsecond
	// offBeat separates the end of a client's patience from its other timers, which run
	// for whole microseconds.
	offBeat = 500 * time.Nanosecond
)

// cancelChoice draws a client's patience, between a little less than any command takes and a whole
// lease. Each order of magnitude is equally likely.
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

// asking returns the context for acquiring the lock of the current section. The context ends with
// the client's patience, or by stop. If the patience is unlimited, or in the liveness phase, in
// which all clients wait for a turn, asking returns the given context (all) unchanged.
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

// early is how long before its deadline a context ends. If a context ended at its deadline, at the same
// instant of a virtual clock, a connection that waits until the deadline would wake just as the context
// ends, and could see either state.
const early = 100 * time.Nanosecond

// deadlined is a context that announces a deadline but ends a moment before it.
type deadlined struct {
	context.Context
	deadline time.Time
}

// Deadline implements context.Context.
func (d deadlined) Deadline() (time.Time, bool) { return d.deadline, true }
