package workloads

import (
	"context"
	"math"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// cancel has clients with little patience, as a service has whose request is over: the
// context of an attempt ends at some moment, be it between two of its commands, with
// one under way, or while it waits for others. In half of them it is a deadline,
// which a client library may look at beforehand, in the other half a cancellation.
// What such an attempt leaves on the nodes keeps others out, though nobody died and
// nothing was lost.
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
	// patientSections is the share of critical sections that are waited for as ever.
	patientSections = 1.0 / 5
	// leastPatience is shorter than any command takes.
	leastPatience = 50 * time.Microsecond
	// offBeat sets the end of a client's patience apart from all that it does at whole
	// microseconds.
	offBeat = 500 * time.Nanosecond
)

// cancelChoice draws how long a client has patience: from less than a command takes to
// a lease, each order of magnitude as often as any other.
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

// asking is the context on which the client asks for the lock of its current section,
// which stop ends; as long as it has patience. In the liveness phase, where everybody
// waits for a turn, that has no end but the phase's own.
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

// early is by how much a context ends before the deadline that it names. A connection
// that waits until that deadline would wake on a virtual clock in the instant in
// which the context ends, and find it ended or not.
const early = 100 * time.Nanosecond

// deadlined is a context with that deadline, which ends a moment before.
type deadlined struct {
	context.Context
	deadline time.Time
}

// Deadline implements context.Context.
func (d deadlined) Deadline() (time.Time, bool) { return d.deadline, true }
