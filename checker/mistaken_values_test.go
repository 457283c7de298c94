package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// These locks keep owners and times in values. Each case was once judged wrongly.
func TestVerdictsOnValuesThatWereMistaken(t *testing.T) {
	tales(t, []tale{
		{"a place of the overwritten record keeps its value", "set-nx-px", func(s *story) {
			s.take(10, 0, "2", "HSET", "lock", "owner", "a", "until", "1400")
			s.take(400, 1, "0", "HSET", "lock", "owner", "b", "until", "1400")
			s.give(500, 1, "1", "DEL", "lock")
			s.give(600, 0, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: race"}},
		{"a jump of the node's clock keeps the time in a value", "set-nx-px", func(s *story) {
			s.nemesis(1, clockOfNode(5000))
			s.lost(2, 2, "TIME")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "2", "HSET", "lock", "owner", "a", "until", "6010")
			s.done(60, 0, history.Info)
			s.nemesis(100, clockOfNode(0))
			s.healed(101)
			for at := 110.0; at < 4000; at += 100 {
				s.busy(at, 1, `"6010"`, "HGET", "lock", "until")
			}
			s.keys(4000)
		}, []string{"liveness: server-clock"}},
		{"a jump of the node's clock is no excuse for a key without a TTL", "setnx-expire", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "1")
			s.nemesis(11, history.Op{Client: 0, F: history.FCrash})
			s.nemesis(20, clockOfNode(-5000))
			s.healed(101)
			for at := 110.0; at < 4000; at += 100 {
				s.busy(at, 1, "0", "SETNX", "lock", "1")
			}
			s.keys(4000)
		}, []string{"liveness: no-expiry for ever"}},
		{"a hung one's watchdog keeps the time in a value", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "2", "HSET", "lock", "owner", "a", "until", "1010")
			s.nemesis(20, hang(0))
			s.healed(30)
			for at := 343.0; at < 5000; at += 333 {
				s.cmd(at, 0, "0", "HSET", "lock", "until", millisOf(at+1000))
				s.busy(at+10, 1, quoted(millisOf(at+1000)), "HGET", "lock", "until")
			}
			s.keys(5000)
		}, []string{"liveness: hung-holder for ever"}},
		{"a renewal that puts its own value anew, while its owner acquires another lock", "set-nx-px-watchdog", func(s *story) {
			s.acquireOther(10, 1)
			s.take(100, 0, "OK", "SET", "lock", "a", "PX", "1000", "NX")
			s.evict(200)
			s.take(300, 1, "OK", "SET", "lock", "b", "PX", "1000", "NX")
			s.invoke(399, 0, history.FAcquire)
			s.openIsOf(0, "other")
			s.cmd(400, 0, "OK", "SET", "other", "c", "PX", "1000", "NX")
			s.cmd(401, 0, "OK", "SET", "lock", "a", "PX", "1000", "XX")
			s.done(402, 0, history.OK)
			s.give(450, 1, "0", s.cad("b")...)
			s.give(500, 0, "1", s.cad("a")...)
		}, []string{"exclusion: server-lost-key", "ownership: foreign-delete"}},
		{"a value reads like another lock's key, and nobody ever got the lock", "setnx-expire", func(s *story) {
			s.invoke(1, 1, history.FAcquire)
			s.openIsOf(1, "1")
			s.cmd(2, 1, "1", "SETNX", "1", "1")
			s.cmd(3, 1, "1", "EXPIRE", "1", "1")
			s.done(4, 1, history.OK)
			s.invoke(5, 0, history.FAcquire)
			s.cmd(6, 0, "1", "SETNX", "lock", "1")
			s.nemesis(7, history.Op{Client: 0, F: history.FCrash})
			s.healed(101)
			for at := 110.0; at < 4000; at += 100 {
				s.busy(at, 2, "0", "SETNX", "lock", "1")
			}
			s.keys(4000)
		}, []string{"liveness: no-expiry for ever"}},
	})
}

func clockOfNode(ahead float64) history.Op {
	return history.Op{Client: history.NoClient, F: history.FNodeClock, Node: "n0", Offset: ms(ahead)}
}

// openIsOf changes the lock of the operation that the client has just invoked. The operation must
// be the last entry.
func (s *story) openIsOf(client int, lock string) {
	op := &s.e.Ops[len(s.e.Ops)-1]
	op.Lock = lock
	s.open[client] = *op
}

// acquireOther adds an acquire and a release of the lock "other". Its key expires after 5 ms, before
// the release.
func (s *story) acquireOther(at float64, client int) {
	s.invoke(at-1, client, history.FAcquire)
	s.openIsOf(client, "other")
	s.cmd(at, client, "OK", "SET", "other", "x", "PX", "5", "NX")
	s.done(at+1, client, history.OK)
	s.invoke(at+10, client, history.FRelease)
	s.openIsOf(client, "other")
	s.cmd(at+11, client, "0", s.script("compare-and-delete", []string{"other"}, "x")...)
	s.done(at+12, client, history.Fail)
}

// Two locks count their fencing tokens in one key. The counter that the grants of both locks raised
// is not an orphan that keeps clients out.
func TestACounterOfTwoLocksKeepsNobodyOut(t *testing.T) {
	judgement(t, "fenced", func(s *story) {
		s.invoke(1, 1, history.FAcquire)
		s.openIsOf(1, "other")
		s.cmd(2, 1, "1", s.script("set-and-count", []string{"other", "fence"}, "t9", "1000")...)
		s.done(3, 1, history.OK, history.Lease{Token: "t9", Fence: 1})
		s.invoke(4, 1, history.FRelease)
		s.openIsOf(1, "other")
		s.cmd(5, 1, "1", s.script("compare-and-delete", []string{"other"}, "t9")...)
		s.done(6, 1, history.OK)
		s.invoke(9, 0, history.FAcquire)
		s.unanswered(10, 0, "2", s.script("set-and-count", []string{"lock", "fence"}, "t0", "1000")...)
		s.nemesis(11, history.Op{Client: 0, F: history.FCrash})
		s.healed(101)
		for at := 110.0; at < 1000; at += 100 {
			s.busy(at, 1, "", s.script("set-and-count", []string{"lock", "fence"}, "t1", "1000")...)
		}
		s.keys(1005)
	}, "liveness: orphaned-key")
}
