package workloads

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// lottery is D3's example: many instances of a service, in each of which a timer
// goes off at the same moment, and a draw of ten winners that exactly one of them
// may make. Each tries the lock once, and who does not get it leaves the draw to
// others. Who gets it looks whether the draw was made, draws one winner after
// another, and the tenth makes it done. A draw that was broken off by a crash is
// finished by who comes next.
//
// The resource is the number of the last draw, and how many winners it has. Two
// instances that both make a draw are seen as one that writes between the
// other's look and its last winner.
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

// drawEvery lies between two draws: the longest that one takes that does not
// overrun, and room for the lock's own commands.
func drawEvery(o Options) time.Duration { return max(2*(o.Hold+o.Rest), time.Millisecond) }

// untilNextDraw is how long an instance sleeps that has rested for so long. Timers
// go off together, but no two in the same instant.
func untilNextDraw(s *session, rest time.Duration) time.Duration {
	every, now := drawEvery(s.Opts), s.Env.Now()
	next := ((now+rest)/every + 1) * every
	return next + time.Duration(s.id+1)*apart - now
}

func lotterySection(s *session, lock string) error {
	round := int64(s.Env.Now()/drawEvery(s.Opts)) + 1
	return s.critical(hold{lock: lock, handle: s.handles[lock]}, s.enterOnce, func(h *hold) error { return s.draw(h, round) })
}

// draw makes that draw, or what is left of it.
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
