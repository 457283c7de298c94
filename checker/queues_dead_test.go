package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// deadHead adds a lock with a queue in which c1 died. Who is refused joins the queue, and leaves it when it
// gives up. At the time removed, c2 removes the dead head, whose place was kept for 5 s and a lease; if
// removed is 0, nobody does. No key but the lock's has a TTL.
func deadHead(removed float64) func(*story) {
	return func(s *story) {
		s.take(10, 0, "OK", setPX("t0")...)
		s.invoke(19, 1, history.FAcquire)
		s.cmd(20, 1, "1", "RPUSH", "queue", "owner-1")
		s.nemesis(35, crash(1))
		s.give(50, 0, "1", s.cad("t0")...)
		s.healed(60)
		until := removed
		if until == 0 {
			until = 8000
		}
		for at := 100.0; at < until; at += 100 {
			s.invoke(at-1, 2, history.FAcquire)
			s.cmd(at, 2, "2", "RPUSH", "queue", "owner-2")
			s.cmd(at+50, 2, "1", "LREM", "queue", "0", "owner-2")
			s.done(at+51, 2, history.Fail)
		}
		if removed == 0 {
			s.keys(until + 100)
			return
		}
		s.invoke(removed-1, 2, history.FAcquire)
		s.cmd(removed, 2, quoted("owner-1"), "LPOP", "queue")
		s.cmd(removed+0.1, 2, "1", "RPUSH", "queue", "owner-2")
		s.cmd(removed+0.2, 2, "OK", setPX("t2")...)
		s.cmd(removed+0.3, 2, quoted("owner-2"), "LPOP", "queue")
		s.done(removed+1, 2, history.OK)
		s.give(removed+50, 2, "1", s.cad("t2")...)
	}
}

// A dead client's place in a queue keeps others out until one of them removes it, like a key until it
// expires. If nobody removes it, it does so for ever.
func TestADeadHeadOfAQueueIsAnOrphanUntilItIsRemoved(t *testing.T) {
	tales(t, []tale{
		{"removed after 5 s and a lease", "set-nx-px", deadHead(6100), []string{"liveness: orphaned-key"}},
		{"removed by nobody", "set-nx-px", deadHead(0), []string{"liveness: no-expiry for ever"}},
	})
}
