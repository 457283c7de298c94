package workloads

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// lottery is D3's example: in many instances of a service a timer fires at the same
// moment, and exactly one instance may draw ten winners. Each tries the lock once and,
// if it is busy, leaves the draw to others. The holder checks whether the draw was
// made, and draws one winner after another; the tenth completes the draw. The next
// holder finishes a draw that a crash interrupted.
//
// The resource has the number of the last draw and its number of winners. If two
// instances make the same draw, one writes between the other's check and its last
// winner.
var lottery = Workload{
	Name:    "lottery",
	Doc:     "all at once try to get in, without waiting, and one may draw ten winners, in every round",
	Suits:   func(c history.Claims) bool { return !c.ReadWrite },
	section: lotterySection,
	pause:   untilNextDraw,
	values:  2,
	once:    true,
}

// winners of a draw.
const winners = 10

// drawEvery is the time between two draws: the longest draw that does not overrun, and
// room for the lock's own commands.
func drawEvery(o Options) time.Duration { return max(2*(o.Hold+o.Rest), time.Millisecond) }

// untilNextDraw replaces an instance's rest. Timers fire together, but no two in the
// same instant.
func untilNextDraw(s *session, rest time.Duration) time.Duration {
	every, now := drawEvery(s.Opts), s.Env.Now()
	next := ((now+rest)/every + 1) * every
	return next + time.Duration(s.id+1)*apart - now
}

func lotterySection(s *session, lock string) error {
	round := int64(s.Env.Now()/drawEvery(s.Opts)) + 1
	return s.critical(hold{lock: lock, handle: s.handles[lock]}, s.enterOnce, func(h *hold) error { return s.draw(h, round) })
}

// draw makes that draw, or the rest of it.
func (s *session) draw(h *hold, round int64) error {
	var last []int64
	err := s.touch(h, testbed.StepRead, func() (err error) {
		last, err = s.read(h)
		return err
	})
	if err != nil || last == nil || last[0] > round {
		return err
	}
	drawn := int64(0)
	if last[0] == round {
		drawn = last[1]
	}
	for ; drawn < winners && !h.lost; drawn++ {
		if err := s.work(h, winners); err != nil {
			return err
		}
		if err := s.touch(h, testbed.StepTouch, func() error { return s.lateWrite(h, round, drawn+1) }); err != nil {
			return err
		}
	}
	return nil
}
