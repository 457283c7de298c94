package trial

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// Claims.Timeout is the shorter of the recipe's timeout and the client's, unless a tenth of the lease is
// even shorter.
func TestTheShortestTimeoutIsClaimed(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		lock         string
		client, want time.Duration
	}{
		{"set-nx-px", 0, 0},
		{"set-nx-px", 1000 * ms, 0},
		{"set-nx-px", 30 * ms, 30 * ms},
		{"redlock", 0, 50 * ms},
		{"redlock", 1000 * ms, 50 * ms},
		{"redlock", 60 * ms, 50 * ms},
		{"redlock", 30 * ms, 30 * ms},
	} {
		r, _ := locks.ByID(c.lock)
		s := Spec{Lock: c.lock, CommandTimeout: c.client}
		s.Options.TTL = 2 * time.Second
		if got := s.PromisedBy(r).Timeout; got != c.want {
			t.Errorf("%s with clients that wait for %v: got %v, want %v", c.lock, c.client, got, c.want)
		}
	}
}
