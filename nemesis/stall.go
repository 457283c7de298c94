package nemesis

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// noticeable is how long a client may be held without a trace in the history.
const noticeable = time.Millisecond

// stalled records for how long a client was held at a point while the harness struck or
// healed. On real time a lease may end meanwhile, which is no flaw of the lock. On
// virtual time nothing is recorded: striking and healing take no time.
func (s *injection) stalled(h testbed.Hit) error {
	held := s.env.Now() - h.Time - s.meant
	if held < noticeable || s.fault.freezes && h.Point.Client == s.client {
		return nil
	}
	return s.event(history.Op{Client: history.NoClient, F: history.FStall, Offset: held})
}
