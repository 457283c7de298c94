package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func hang(client int) history.Op { return history.Op{Client: client, F: history.FHung} }

// hungOn makes c0 hang while it holds a lock of set-nx-px-watchdog. c0's watchdog renews the lease
// until the time until, and c1 keeps trying to acquire the lock.
func (s *story) hungOn(until float64) {
	s.take(10, 0, "OK", setPX("t0")...)
	s.nemesis(20, hang(0))
	s.healed(30)
	for at := 343.0; at < until; at += 333 {
		s.cmd(at, 0, "1", "EXPIRE", "lock", "1")
		s.busy(at+10, 1, "", setPX("t1")...)
	}
}

func crash(client int) history.Op { return history.Op{Client: client, F: history.FCrash} }

// queue adds attempts of a client that find the lock busy, one every 50 ms from one time to
// another.
func (s *story) queue(from, to float64, client int, reply string, args ...string) {
	for at := from; at < to; at += 50 {
		s.busy(at, client, reply, args...)
	}
}

// watchdogsGoOn adds a holder that crashes, and another client whose attempts fail. The watchdogs
// of these attempts keep the dead holder's key alive.
func watchdogsGoOn(s *story) {
	s.vote(10, 0, "t0", allNodes, nil)
	s.nemesis(30, crash(0))
	s.healed(40)
	for at := 50.0; at < 3000; at += 300 {
		s.vote(at, 1, "t1", nil, allNodes)
		s.onNodes(at+20, 1, allNodes, "1", "EXPIRE", "lock", "1")
	}
	for _, n := range []string{"n0", "n1", "n2", "n3", "n4"} {
		s.node = n
		s.keys(3000)
	}
}

// timerGoesOn adds a client that enters a re-entrant lock twice, but never gets the reply to the
// first entry. The client releases only the second entry, and its timer renews the lease for ever.
func timerGoesOn(s *story) {
	s.invoke(9, 0, history.FAcquire)
	s.unanswered(10, 0, "1", s.enter("owner-zero")...)
	s.done(300, 0, history.Info)
	s.take(310, 0, "1", s.enter("owner-zero")...)
	s.give(400, 0, "0", s.leave("owner-zero")...)
	s.healed(450)
	for at := 500.0; at < 3000; at += 300 {
		s.cmd(at, 0, "1", s.script("hash-renew", []string{"lock"}, "owner-zero", "1")...)
		s.busy(at+10, 1, "0", s.enter("owner-one")...)
	}
	s.keys(3000)
}

func TestLivenessBlockedForEver(t *testing.T) {
	tales(t, []tale{
		{"a crashed holder's key without a life", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.nemesis(20, crash(0))
			s.healed(30)
			s.queue(40, 2000, 1, "0", "SETNX", "lock", "1")
			s.keys(2100)
		}, []string{"liveness: no-expiry for ever"}},
		{"a grant whose reply was lost", "setnx", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "1", "SETNX", "lock", "1")
			s.done(1000, 0, history.Info)
			s.healed(1001)
			s.queue(1010, 3000, 1, "0", "SETNX", "lock", "1")
			s.keys(3100)
		}, []string{"liveness: no-expiry for ever"}},
		{"a crash between SETNX and EXPIRE", "setnx-expire", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "1")
			s.nemesis(11, crash(0))
			s.healed(30)
			s.queue(40, 2000, 1, "0", "SETNX", "lock", "1")
			s.keys(2100)
		}, []string{"liveness: no-expiry for ever"}},
		{"a key without a life whose holder hangs", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.nemesis(20, hang(0))
			s.healed(30)
			s.queue(40, 2000, 1, "0", "SETNX", "lock", "1")
			s.keys(2100)
		}, []string{"liveness: no-expiry for ever"}},
		{"a holder that hangs beside its watchdog", "set-nx-px-watchdog", func(s *story) {
			s.hungOn(6000)
			s.keys(6000)
		}, []string{"liveness: hung-holder for ever"}},
		{"a lost release", "exists-set", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1")
			s.invoke(20, 0, history.FRelease)
			s.lost(21, 0, "DEL", "lock")
			s.done(1000, 0, history.Info)
			s.healed(1001)
			s.queue(1010, 3000, 1, "1", "EXISTS", "lock")
			s.keys(3100)
		}, []string{"liveness: no-expiry for ever"}},
		{"watchdogs that outlive their attempt keep a dead holder's keys alive", "redlock-naive", watchdogsGoOn, []string{"liveness: foreign-renewal", "liveness: foreign-renewal for ever"}},
		{"an owner's timer keeps alive what it no longer counts on", "reentrant-hash-watchdog", timerGoesOn, []string{"liveness: foreign-renewal", "liveness: foreign-renewal for ever"}},
	})
}

func TestLivenessBlockedUpToTTL(t *testing.T) {
	tales(t, []tale{
		{"a crashed holder", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(20, crash(0))
			s.queue(40, 1000, 1, "nil", setPX("t1")...)
			s.hold(1100, 1150, 1, "t1")
		}, []string{"liveness: orphaned-key"}},
		{"the client itself waits for what it left behind", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.done(300, 0, history.Info)
			s.queue(310, 900, 0, "nil", setPX("t1")...)
			s.hold(1100, 1150, 0, "t1")
		}, []string{"liveness: orphaned-key"}},
		{"a request that was delayed beyond its attempt", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.done(300, 0, history.Info)
			s.late(10, 500, 0, "OK", setPX("t0")...).Replied = 0
			s.queue(600, 1400, 1, "nil", setPX("t1")...)
			s.hold(1600, 1650, 1, "t1")
		}, []string{"liveness: orphaned-key"}},
		{"a release that was lost", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(50, 0, history.FRelease)
			s.lost(51, 0, s.cad("t0")...)
			s.done(350, 0, history.Info)
			s.queue(400, 1000, 1, "nil", setPX("t1")...)
			s.hold(1100, 1150, 1, "t1")
		}, []string{"liveness: orphaned-key"}},
		{"a release that was lost, until the SET of one who had looked before comes late", "exists-set", func(s *story) {
			s.invoke(4, 2, history.FAcquire)
			s.cmd(5, 2, "0", "EXISTS", "lock")
			s.take(10, 0, "OK", "SET", "lock", "1")
			s.invoke(50, 0, history.FRelease)
			s.lost(51, 0, "DEL", "lock")
			s.done(350, 0, history.Info)
			s.queue(400, 800, 1, "1", "EXISTS", "lock")
			s.late(6, 900, 2, "OK", "SET", "lock", "1")
			s.done(901, 2, history.OK)
			s.give(950, 2, "1", "DEL", "lock")
		}, []string{"liveness: no-expiry"}},
		{"an EXPIRE whose reply was lost", "setnx-expire", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "1")
			s.unanswered(12, 0, "1", "EXPIRE", "lock", "1")
			s.done(300, 0, history.Info)
			s.queue(400, 1000, 1, "0", "SETNX", "lock", "1")
			s.invoke(1100, 1, history.FAcquire)
			s.cmd(1101, 1, "1", "SETNX", "lock", "1")
			s.cmd(1102, 1, "1", "EXPIRE", "lock", "1")
			s.done(1103, 1, history.OK)
			s.give(1150, 1, "1", "DEL", "lock")
		}, []string{"liveness: orphaned-key"}},
		{"an entry that was counted twice", "reentrant-hash", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "1", s.enter("owner-zero")...)
			s.done(300, 0, history.Info)
			s.take(310, 0, "1", s.enter("owner-zero")...)
			s.give(400, 0, "0", s.leave("owner-zero")...)
			s.queue(450, 1200, 1, "0", s.enter("owner-one")...)
			s.holdHash(1400, 1450, 1, "owner-one")
		}, []string{"liveness: orphaned-key"}},
		{"a stale time that is taken over", "setnx-takeover-del", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", millisOf(1010))
			s.nemesis(50, crash(0))
			for at := 100.0; at < 1000; at += 100 {
				s.invoke(at-1, 1, history.FAcquire)
				s.cmd(at, 1, "0", "SETNX", "lock", millisOf(at+1000))
				s.cmd(at+1, 1, quoted(millisOf(1010)), "GET", "lock")
				s.done(at+2, 1, history.Fail)
			}
			s.invoke(1099, 1, history.FAcquire)
			s.cmd(1100, 1, "0", "SETNX", "lock", millisOf(2100))
			s.cmd(1101, 1, quoted(millisOf(1010)), "GET", "lock")
			s.cmd(1102, 1, "1", "DEL", "lock")
			s.cmd(1103, 1, "1", "SETNX", "lock", millisOf(2103))
			s.done(1104, 1, history.OK)
			s.give(1150, 1, "1", "DEL", "lock")
		}, []string{"liveness: orphaned-key"}},
		{"a majority of a crashed holder's keys", "redlock", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			s.nemesis(30, crash(0))
			s.vote(100, 1, "t1", nil, allNodes)
			s.vote(1100, 1, "t2", allNodes, nil)
			s.invoke(1200, 1, history.FRelease)
			s.onNodes(1201, 1, allNodes, "1", s.cad("t2")...)
			s.done(1210, 1, history.OK)
		}, []string{"liveness: orphaned-key"}},
		{"an attempt that waits for one slow node until its other keys are gone", "redlock-naive", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.onNodes(10, 0, []int{0, 1, 2, 3}, "OK", setPX("t0")...)
			s.vote(100, 1, "t1", nil, allNodes[:4])
			s.node = "n4"
			s.late(14, 1500, 0, "OK", setPX("t0")...)
			s.done(1501, 0, history.OK)
			s.give(1800, 0, "1", s.cad("t0")...)
		}, []string{"liveness: orphaned-key"}},
		{"a lock that waits by itself sees the key of a dead holder", "redisson", func(s *story) {
			enter := func(o string) []string { return s.script("redisson-enter", []string{"lock"}, o, "1000") }
			s.take(10, 0, "nil", enter("owner-zero")...)
			s.nemesis(20, crash(0))
			s.invoke(49, 1, history.FAcquire)
			s.cmd(50, 1, "960", enter("owner-one")...)
			s.cmd(1050, 1, "nil", enter("owner-one")...)
			s.done(1051, 1, history.OK)
			s.give(1100, 1, "1", s.script("redisson-leave", []string{"lock", "channel"}, "owner-one", "1000")...)
		}, []string{"liveness: orphaned-key"}},
		{"a watchdog that prolongs a dead owner's key", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.fault(300, history.Invoke, 0)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.nemesis(1150, crash(1))
			s.fault(1190, history.Info, 0)
			s.cmd(1500, 0, "1", "EXPIRE", "lock", "1")
			s.give(1550, 0, "0", s.cad("t0")...)
			s.queue(1600, 2400, 2, "nil", setPX("t2")...)
			s.hold(2600, 2650, 2, "t2")
		}, []string{"exclusion: lease-outlived", "liveness: foreign-renewal"}},
		{"a renewal that was on its way when its holder crashed", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.late(340, 400, 0, "1", "EXPIRE", "lock", "1")
			s.nemesis(350, crash(0))
			s.queue(1100, 1390, 1, "nil", setPX("t1")...)
			s.hold(1420, 1450, 1, "t1")
		}, []string{"liveness: orphaned-key"}},
		{"a key that is still there when time is up, longer than claimed", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", "SET", "lock", "t0", "NX", "PX", "1000000")
			s.done(300, 0, history.Info)
			s.healed(310)
			s.queue(320, 3000, 1, "nil", setPX("t1")...)
			s.keys(3100)
		}, []string{"liveness: long-lease", "liveness: orphaned-key"}},
	})
}

// Readers share a key. A reader whose acquire got no reply may have prolonged the key's TTL. If so,
// the reader leaves an orphan.
func TestAReaderWhoWasNotAnsweredLeavesAnOrphan(t *testing.T) {
	keys := []string{"lock:read", "lock:write"}
	tales(t, []tale{{"behind another who could not give his back", "rw-two-keys", func(s *story) {
		read := s.script("two-keys-read", keys, "1")
		s.invoke(9, 0, history.FAcquire, history.Read)
		s.cmd(10, 0, "1", read...)
		s.done(11, 0, history.OK)
		s.invoke(50, 0, history.FRelease, history.Read)
		s.lost(51, 0, "DEL", "lock:read")
		s.invoke(299, 1, history.FAcquire, history.Read)
		s.unanswered(300, 1, "1", read...)
		s.done(550, 0, history.Info)
		s.done(800, 1, history.Info)
		for at := 1050.0; at < 1300; at += 50 {
			s.invoke(at-1, 1, history.FAcquire, history.Write)
			s.cmd(at, 1, "0", s.script("two-keys-write", keys, "1")...)
			s.done(at+1, 1, history.Fail)
		}
		s.invoke(1349, 1, history.FAcquire, history.Write)
		s.cmd(1350, 1, "1", s.script("two-keys-write", keys, "1")...)
		s.done(1351, 1, history.OK)
	}, []string{"liveness: orphaned-key"}}})
}

func TestLivenessAccusesNobodyOfWhatIsRight(t *testing.T) {
	tales(t, []tale{
		{"nobody waits", "set-nx-px", func(s *story) {
			s.hold(10, 20, 0, "t0")
		}, nil},
		{"a crash that nobody waits for", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(20, crash(0))
			s.hold(1100, 1150, 1, "t1")
		}, nil},
		{"a holder that is told of its loss as soon as it is let in, and gives back late", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.entry(11, history.Op{Process: 0, Client: 0, Type: history.Info, F: history.FLost, Lock: "lock"})
			s.queue(40, 1000, 1, "nil", setPX("t1")...)
			s.hold(1100, 1150, 1, "t1")
			s.give(1200, 0, "0", s.cad("t0")...)
		}, nil},
		{"a holder that works long", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.queue(20, 900, 1, "nil", setPX("t1")...)
			s.give(950, 0, "1", s.cad("t0")...)
		}, nil},
		{"a holder that is frozen, but believes", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.fault(20, history.Invoke, 0)
			s.queue(40, 900, 1, "nil", setPX("t1")...)
			s.fault(1500, history.Info, 0)
			s.give(1600, 0, "0", s.cad("t0")...)
		}, nil},
		{"a leftover that its own client takes away", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.done(300, 0, history.Info)
			s.busy(310, 1, "nil", setPX("t1")...)
			s.give(350, 0, "1", s.cad("t0")...)
		}, nil},
		{"a loser's time that stands in for the winner's", "getset", func(s *story) {
			s.stranger(5, "SET", "lock", "\x00\x00\x00\x00\x00\x00\x00\x01")
			s.invoke(9, 1, history.FAcquire)
			s.invoke(9, 2, history.FAcquire)
			for c := 1.0; c < 3; c++ {
				s.cmd(10+c, int(c), "0", "SETNX", "lock", stampOf(10+c))
				s.cmd(12+c, int(c), quoted("\x00\x00\x00\x00\x00\x00\x00\x01"), "GET", "lock")
			}
			s.cmd(15, 1, quoted("\x00\x00\x00\x00\x00\x00\x00\x01"), "GETSET", "lock", stampOf(11))
			s.cmd(16, 2, quoted(stampOf(11)), "GETSET", "lock", stampOf(12))
			s.done(17, 2, history.Fail)
			s.cmd(18, 1, "1", "EXPIRE", "lock", "1")
			s.done(19, 1, history.OK)
			s.queue(100, 900, 0, "0", "SETNX", "lock", stampOf(100))
			s.busy(1150, 0, "nil", "GET", "lock")
			s.give(1200, 1, "0", "DEL", "lock")
		}, []string{"ownership: race"}},
		{"an attempt that was not answered, by a key of the dead", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(20, crash(0))
			s.invoke(49, 1, history.FAcquire)
			s.unanswered(50, 1, "nil", setPX("t1")...)
			s.done(350, 1, history.Info)
			s.hold(1100, 1150, 1, "t2")
		}, nil},
		{"a leftover on a minority", "redlock", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.onNodes(10, 0, otherHalf, "OK", setPX("t0")...)
			s.done(50, 0, history.Info)
			s.vote(100, 1, "t1", nil, otherHalf)
			s.vote(200, 1, "t2", majority, otherHalf)
		}, nil},
		{"a deadline that has passed a little before its keys", "redlock", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.onNodes(30, 0, allNodes, "OK", setPX("t0")...)
			s.done(40, 0, history.OK, history.Lease{Token: "t0", Deadline: ms(1009)})
			s.vote(1015, 1, "t1", nil, allNodes)
			s.invoke(1100, 0, history.FRelease)
			s.onNodes(1101, 0, allNodes, "0", s.cad("t0")...)
			s.done(1110, 0, history.Fail)
		}, nil},
		{"a key without a life that somebody alive holds", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.healed(20)
			s.keys(100)
		}, nil},
		{"a fence counter without a life", "set-nx-px", func(s *story) {
			s.healed(5)
			s.hold(10, 20, 0, "t0")
			s.keys(100)
		}, nil},
		{"an attempt to read that nobody answered, of who then writes", "rw-two-keys", func(s *story) {
			keys := []string{"lock:read", "lock:write"}
			s.invoke(9, 0, history.FAcquire, history.Read)
			s.lost(10, 0, s.script("two-keys-read", keys, "1")...)
			s.healed(50)
			s.done(300, 0, history.Info)
			s.invoke(400, 0, history.FAcquire, history.Write)
			s.cmd(401, 0, "1", s.script("two-keys-write", keys, "1")...)
			s.done(402, 0, history.OK)
			s.keys(3100)
		}, nil},
		{"readers beside a dead reader", "rw-two-keys", func(s *story) {
			read := s.script("two-keys-read", []string{"lock:read", "lock:write"}, "1")
			for c := range 2 {
				s.invoke(float64(9+20*c), c, history.FAcquire, history.Read)
				s.cmd(float64(10+20*c), c, "1", read...)
				s.done(float64(11+20*c), c, history.OK)
				if c == 0 {
					s.nemesis(15, crash(0))
				}
			}
		}, nil},
	})
}
