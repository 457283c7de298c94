package nemesis

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// noticeable is how long a client may be held without a trace in the history.
const noticeable = time.Millisecond

// stalled records how long the harness held a client at a point while it struck or healed.
// On real time a lease may end meanwhile, which is no flaw of the lock. On virtual time
// striking and healing take no time, so nothing is recorded.
func (s *injection) stalled(h testbed.Hit) error {
	held := s.env.Now() - h.Time - s.meant
	if held < noticeable || s.fault.freezes && h.Point.Client == s.client {
		return nil
	}
	return s.event(history.Op{Client: history.NoClient, F: history.FStall, Offset: held})
}
