package workloads

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// lotteryUnmarked is D3's example exactly as D3 has it: a timer fires in many instances of a
// service. The instance that gets the lock draws ten winners; the other instances give up. No instance
// records that the draw was made. If another instance's timer fires after the first has released
// the lock, that instance draws again, although the lock excluded the two from each other. The
// workload lottery has the record that repairs this.
//
// The resource records the round and the number of each winner, as the document's MySQL table
// would. Timers fire a little apart; some timers fire after a draw is over.
var lotteryUnmarked = Workload{
	Name:     "lottery-unmarked",
	Doc:      "the lottery as in D3: every instance that gets the lock draws, and no instance records that the draw was made",
	Standard: true,
	Document: "D3",
	Clients:  6,
	Suits:    func(c history.Claims) bool { return !c.ReadWrite },
	Shows: []Shown{{
		Oracle: "draws", Cause: "unmarked",
		Why:    "The lock keeps two instances from drawing at the same time. It does not keep one instance from drawing after another: for that, an instance must record the draw while it holds the lock.",
		Source: "D3, definition: one instance gets the lock and draws",
	}},
	choose:  lateTimers,
	section: lotteryUnmarkedSection,
	pause: func(s *session, rest time.Duration) time.Duration {
		return untilNextDraw(s, 0) + rest
	},
	values: 2,
	Draws:  true,
}

// lateTimer is the share of timers that fire after the longest draw is over.
const lateTimer = 1.0 / 4

// lateTimers draws how late the next timer fires. This delay replaces an instance's rest.
func lateTimers(s *Section, o Options, own float64) {
	s.Rest = time.Duration(own * float64(o.Hold) / 4).Round(time.Microsecond)
	if own < lateTimer {
		s.Rest = o.longest() + (o.Hold / 4).Round(time.Microsecond)
	}
}

func lotteryUnmarkedSection(s *session, lock string) error {
	round := int64(s.Env.Now()/drawEvery(s.Opts)) + 1
	return s.hold(lock).critical(true, func(h *hold) error {
		return h.drawOn(round, 0)
	})
}
