package nemesis

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// noticeable is how long a client may be held without anybody being the wiser.
const noticeable = time.Millisecond

// stalled records for how long a client was held at a place by what was done to
// the world meanwhile. On real time that is the harness's own doing, which a lease
// may not survive: what it shows then is no flaw of the lock. On virtual time
// nothing is recorded, since nothing that is done takes any.
func (s *strike) stalled(h testbed.Hit) error {
	held := s.env.Now() - h.Time - s.meant
	if held < noticeable || s.fault.freezes && h.Point.Client == s.client {
		return nil
	}
	return s.event(history.Op{Client: history.NoClient, F: history.FStall, Offset: held})
}
