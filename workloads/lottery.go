package workloads

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// lottery is D3's example: in many instances of a service a timer fires at the same moment, and
// exactly one instance may draw ten winners. Each instance tries the lock once. If the lock is
// busy, the instance leaves the draw to the others. The holder checks whether the draw was already
// made; if not, it draws ten winners one by one. If a crash interrupts a draw, the next holder
// finishes it.
//
// D3 itself has no such check: see the workload lottery-unmarked.
//
// The resource holds the number of the last draw and its number of winners. If two instances make
// the same draw, one of them writes a winner after the other's check and before the other's last
// winner.
var lottery = Workload{
	Name:    "lottery",
	Doc:     "in every round all clients try at once, without waiting, and one of them may draw ten winners",
	Suits:   func(c history.Claims) bool { return !c.ReadWrite },
	section: lotterySection,
	pause:   untilNextDraw,
	values:  2,
	Draws:   true,
}

const winners = 10

// drawEvery returns the time between two draws: enough for the longest draw without an overrun,
// and for the lock's own commands.
func drawEvery(o Options) time.Duration { return max(2*(o.Hold+o.Rest), time.Millisecond) }

// untilNextDraw returns the time to the first draw after the client's rest. All timers fire almost
// together, but no two at the same instant.
func untilNextDraw(s *session, rest time.Duration) time.Duration {
	every, now := drawEvery(s.Opts), s.Env.Now()
	next := ((now+rest)/every + 1) * every
	return next + s.stagger() - now
}

// stagger returns how much later than the common time the client's timer fires. This delay is an
// odd number of nanoseconds. After a message of the simulated network, clients act at an even
// nanosecond; so no two of these events share an instant of a virtual clock.
func (s *session) stagger() time.Duration {
	const places = 98 // number of nanoseconds in each microsecond that the simulation gives to its links
	return time.Duration(s.id+1)*10*time.Microsecond + time.Duration(2*s.id+1)%places
}

// lotterySection makes the draw of this round, or finishes it if it was interrupted. It does nothing if this
// draw is finished or a later one has begun.
func lotterySection(s *session, lock string) error {
	round := int64(s.Env.Now()/drawEvery(s.Opts)) + 1
	return s.hold(lock).critical(true, func(h *hold) error {
		last, err := h.values()
		if err != nil || last == nil || last[0] > round {
			return err
		}
		drawn := int64(0)
		if last[0] == round {
			drawn = last[1]
		}
		return h.drawOn(round, drawn)
	})
}

// drawOn draws the remaining winners of this round, after the given number. It stops when the
// client knows that its lease is lost.
func (h *hold) drawOn(round, drawn int64) error {
	for ; drawn < winners && !h.isLost(); drawn++ {
		if err := h.work(winners); err != nil {
			return err
		}
		if err := h.touch(testbed.StepTouch, func() error { return h.lateWrite(round, drawn+1) }); err != nil {
			return err
		}
	}
	return nil
}
