package checker

import (
	"fmt"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// asksTime adds a TIME command. The reply comes from a node whose clock is fast by ahead milliseconds.
func (s *story) asksTime(at float64, client int, ahead float64) {
	now := nodeEpoch + int64(at+ahead)
	s.cmd(at, client, fmt.Sprintf(`["%d" "%d"]`, now/1000, now%1000*1000), "TIME")
}

// nodeEpoch is the time of the nodes' wall clock at the story's start, in milliseconds.
const nodeEpoch = 1700000000000

// A client reads the time of a node's clock, and the clock jumps. Then the client writes the old time
// to a key, or takes over a lease that had ended by the old time. The node's clock is to blame for
// the violation.
func TestTimesThatWereReadBeforeAJump(t *testing.T) {
	tales(t, []tale{
		{"by the owner", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.asksTime(10, 0, 0)
			s.nemesis(12, clockOfNode(5000))
			s.cmd(14, 0, "2", "HSET", "lock", "owner", "a", "until", millisOf(1010))
			s.done(15, 0, history.OK)
			s.invoke(19, 1, history.FAcquire)
			s.asksTime(20, 1, 5000)
			s.cmd(21, 1, quoted(millisOf(1010)), "HGET", "lock", "until")
			s.cmd(22, 1, "0", "HSET", "lock", "owner", "b", "until", millisOf(6020))
			s.done(23, 1, history.OK)
			s.give(100, 1, "1", "DEL", "lock")
			s.give(150, 0, "0", "DEL", "lock")
		}, []string{"exclusion: server-clock"}},
		{"by the watchdog", "set-nx-px-watchdog", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.asksTime(10, 0, 0)
			s.cmd(14, 0, "2", "HSET", "lock", "owner", "a", "until", millisOf(1010))
			s.done(15, 0, history.OK)
			s.asksTime(340, 0, 0)
			s.nemesis(341, clockOfNode(5000))
			s.cmd(343, 0, "0", "HSET", "lock", "until", millisOf(1340))
			s.invoke(349, 1, history.FAcquire)
			s.asksTime(350, 1, 5000)
			s.cmd(351, 1, quoted(millisOf(1340)), "HGET", "lock", "until")
			s.cmd(352, 1, "1", "DEL", "lock")
			s.cmd(353, 1, "2", "HSET", "lock", "owner", "b", "until", millisOf(6353))
			s.done(354, 1, history.OK)
			s.give(400, 1, "1", "DEL", "lock")
			s.give(450, 0, "0", "DEL", "lock")
		}, []string{"exclusion: server-clock"}},
		{"by the one who takes it over", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.asksTime(10, 0, 0)
			s.cmd(14, 0, "2", "HSET", "lock", "owner", "a", "until", millisOf(1010))
			s.done(15, 0, history.OK)
			s.nemesis(400, clockOfNode(5000))
			s.invoke(499, 1, history.FAcquire)
			s.asksTime(500, 1, 5000)
			s.nemesis(501, clockOfNode(0))
			s.cmd(502, 1, quoted(millisOf(1010)), "HGET", "lock", "until")
			s.cmd(503, 1, "0", "HSET", "lock", "owner", "b", "until", millisOf(6500))
			s.done(504, 1, history.OK)
			s.give(600, 1, "1", "DEL", "lock")
			s.give(650, 0, "0", "DEL", "lock")
		}, []string{"exclusion: server-clock"}},
		{"and no clock jumped", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.asksTime(10, 0, 0)
			s.cmd(14, 0, "2", "HSET", "lock", "owner", "a", "until", millisOf(1010))
			s.done(15, 0, history.OK)
			s.invoke(499, 1, history.FAcquire)
			s.asksTime(500, 1, 0)
			s.cmd(503, 1, "0", "HSET", "lock", "owner", "b", "until", millisOf(1500))
			s.done(504, 1, history.OK)
			s.give(600, 1, "1", "DEL", "lock")
			s.give(650, 0, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: race"}},
		{"of another acquire, long before", "set-nx-px", func(s *story) {
			s.invoke(2, 0, history.FAcquire)
			s.asksTime(3, 0, 0)
			s.done(4, 0, history.Fail)
			s.nemesis(5, clockOfNode(5000))
			s.invoke(9, 0, history.FAcquire)
			s.asksTime(10, 0, 5000)
			s.cmd(14, 0, "2", "HSET", "lock", "owner", "a", "until", millisOf(6010))
			s.done(15, 0, history.OK)
			s.invoke(499, 1, history.FAcquire)
			s.asksTime(500, 1, 5000)
			s.cmd(503, 1, "0", "HSET", "lock", "owner", "b", "until", millisOf(6500))
			s.done(504, 1, history.OK)
			s.give(600, 1, "1", "DEL", "lock")
			s.give(650, 0, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: race"}},
		{"at the start, outside of any operation", "set-nx-px-watchdog", func(s *story) {
			s.asksTime(5, 0, 0)
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "2", "HSET", "lock", "owner", "a", "until", millisOf(1010))
			s.done(15, 0, history.OK)
			for at := 340.0; at < 2000; at += 330 {
				s.cmd(at, 0, "0", "HSET", "lock", "until", millisOf(at+1000))
			}
			s.nemesis(2000, clockOfNode(5000))
			s.cmd(2100, 0, "0", "HSET", "lock", "until", millisOf(8100))
			s.invoke(2149, 1, history.FAcquire)
			s.cmd(2150, 1, "0", "HSET", "lock", "owner", "b", "until", millisOf(8150))
			s.done(2151, 1, history.OK)
			s.give(2200, 1, "1", "DEL", "lock")
			s.give(2250, 0, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: race"}},
	})
}
