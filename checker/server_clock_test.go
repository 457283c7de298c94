package checker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// nodeClock sets a node's wall clock at the given time: it is fast by ahead milliseconds from then on.
func (s *story) nodeClock(at float64, node string, ahead float64) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FNodeClock, Node: node, Offset: ms(ahead)})
}

func TestANodesClockThatJumpsForwardEndsLeases(t *testing.T) {
	tales(t, []tale{
		{"a key that would have lived", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(50, "n0", 60_000)
			s.hold(100, 200, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-clock"}},
		{"a jump by part of a life", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(50, "n0", 500)
			s.busy(400, 1, "nil", setPX("t1")...)
			s.hold(600, 650, 1, "t1")
			s.give(700, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-clock"}},
		{"a jump that only where the key ended tells from a life that was over", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(50, "n0", 10)
			s.hold(1009.5, 1050, 1, "t1")
			s.give(1100, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-clock"}},
		{"a clock that is set right again is a jump too", "set-nx-px", func(s *story) {
			s.nodeClock(5, "n0", -60_000)
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(50, "n0", 0)
			s.hold(100, 200, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-clock"}},
		{"a clock that is wrong all the time counts lives as well as any", "set-nx-px", func(s *story) {
			s.nodeClock(5, "n0", 60_000)
			twoHoldersByExpiry(s)
		}, []string{"exclusion: lease-outlived"}},
		{"a lease that was overrun in any case", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(50, "n0", 60_000)
			s.hold(1200, 1250, 1, "t1")
			s.give(1300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a script that looks for itself", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.nodeClock(50, "n0", 60_000)
			s.holdHash(100, 200, 1, "owner-one")
			s.give(300, 0, "nil", s.leave("owner-zero")...)
		}, []string{"exclusion: server-clock"}},
		{"a renewal that finds its key gone before its time", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(50, "n0", 60_000)
			s.cmd(343, 0, "0", "EXPIRE", "lock", "1")
			s.hold(1500, 1600, 1, "t1")
			s.give(1900, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-clock"}},
		{"an inner acquire that finds its key gone, and whose release frees the lock", "reentrant-hash-watchdog", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.nodeClock(50, "n0", 60_000)
			s.take(100, 0, "1", s.enter("owner-zero")...)
			s.give(200, 0, "1", s.leave("owner-zero")...)
			s.holdHash(1500, 1600, 1, "owner-one")
			s.give(1700, 0, "nil", s.leave("owner-zero")...)
		}, []string{"exclusion: server-clock"}},
		{"an inner acquire that finds its key gone, and begins a lease that nobody renews", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(50, "n0", 60_000)
			s.take(100, 0, "OK", setPX("t0")...)
			s.hold(1500, 1600, 1, "t1")
			s.give(1700, 0, "0", s.cad("t0")...)
			s.give(1720, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: renewal-failed"}},
		{"a holder that would not have renewed either", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.fault(40, history.Invoke, 0)
			s.nodeClock(50, "n0", 60_000)
			s.hold(1500, 1600, 1, "t1")
			s.fault(1700, history.Info, 0)
			s.give(1900, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a renewal by a clock that has jumped before", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(50, "n0", -60_000)
			s.cmd(343, 0, "1", "EXPIRE", "lock", "1")
			s.hold(1400, 1500, 1, "t1")
			s.give(1600, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: renewal-failed"}},
		{"a key of the client's time that the node ended", "getset", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", stampOf(10))
			s.cmd(11, 0, "1", "EXPIRE", "lock", "1")
			s.done(12, 0, history.OK)
			s.nodeClock(50, "n0", 60_000)
			s.invoke(99, 1, history.FAcquire)
			s.cmd(100, 1, "1", "SETNX", "lock", stampOf(100))
			s.cmd(101, 1, "1", "EXPIRE", "lock", "1")
			s.done(102, 1, history.OK)
			s.give(200, 1, "1", "DEL", "lock")
			s.give(300, 0, "0", "DEL", "lock")
		}, []string{"exclusion: server-clock"}},
		{"a majority of nodes", "redlock", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			for _, n := range majority {
				s.nodeClock(50, fmt.Sprintf("n%d", n), 60_000)
			}
			s.vote(100, 1, "t1", majority, otherHalf)
			s.give(200, 1, "0", s.cad("t1")...)
			s.give(300, 0, "1", s.cad("t0")...)
		}, []string{"exclusion: server-clock"}},
		{"one node of a majority that had none to spare", "redlock", func(s *story) {
			s.vote(10, 0, "t0", majority, nil)
			s.nodeClock(50, "n2", 60_000)
			s.vote(100, 1, "t1", []int{2, 3, 4}, []int{0, 1})
			s.give(200, 1, "0", s.cad("t1")...)
			s.give(300, 0, "1", s.cad("t0")...)
		}, []string{"exclusion: server-clock"}},
		{"a promoted node that counts by its own clock", "set-nx-px", func(s *story) {
			s.nodeClock(5, "n1", 60_000)
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(50, history.Op{Client: history.NoClient, F: history.FPromote, Node: "n1"})
			s.node = "n1"
			s.hold(100, 200, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-clock"}},
	})
}

func TestANodesClockThatJumpsBackProlongsLeases(t *testing.T) {
	abandoned := func(s *story) {
		s.take(10, 0, "OK", setPX("t0")...)
		s.nemesis(20, crash(0))
	}
	tales(t, []tale{
		{"a dead owner's key outlives its life", "set-nx-px", func(s *story) {
			abandoned(s)
			s.nodeClock(50, "n0", -2000)
			s.queue(1100, 2900, 1, "nil", setPX("t1")...)
			s.hold(3100, 3150, 1, "t1")
		}, []string{"liveness: server-clock"}},
		{"a dead owner's key keeps others out, first by itself and then by the clock", "set-nx-px", func(s *story) {
			abandoned(s)
			s.nodeClock(50, "n0", -2000)
			s.queue(100, 2900, 1, "nil", setPX("t1")...)
			s.hold(3100, 3150, 1, "t1")
		}, []string{"liveness: orphaned-key", "liveness: server-clock"}},
		{"a clock that is set right in the end", "set-nx-px", func(s *story) {
			abandoned(s)
			s.nodeClock(50, "n0", -2000)
			s.queue(1100, 1900, 1, "nil", setPX("t1")...)
			s.nodeClock(2000, "n0", 0)
			s.hold(2100, 2150, 1, "t1")
		}, []string{"liveness: server-clock"}},
		{"a key that was set while the clock was ahead", "set-nx-px", func(s *story) {
			s.nodeClock(5, "n0", 60_000)
			abandoned(s)
			s.nodeClock(50, "n0", 0)
			s.healed(60)
			s.queue(1100, 5000, 1, "nil", setPX("t1")...)
			s.keys(5100)
		}, []string{"liveness: server-clock"}},
		{"a key that was overdue when the clock went back, and lives again", "set-nx-px", func(s *story) {
			abandoned(s)
			s.nodeClock(1050, "n0", -2000)
			s.queue(1300, 2900, 1, "nil", setPX("t1")...)
			s.hold(3100, 3150, 1, "t1")
		}, []string{"liveness: server-clock"}},
		{"a key that was overdue when the clock went back, and was gone", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(1200, "n0", -2000)
			s.hold(1300, 1350, 1, "t1")
			s.give(1400, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a holder that goes on believing and is right", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nodeClock(50, "n0", -60_000)
			s.queue(100, 1900, 1, "nil", setPX("t1")...)
			s.give(2000, 0, "1", s.cad("t0")...)
		}, nil},
	})
}

// A key that lives longer than the recipe claims is not blamed on a node's clock: no clock is wrong
// in these trials.
func TestALifeBeyondTheClaimsIsNoOrphanOfTheUsualKind(t *testing.T) {
	tales(t, []tale{
		{"a command that gives more life than is claimed", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX", "PX", "3000")
			s.nemesis(20, crash(0))
			s.queue(1300, 2900, 1, "nil", setPX("t1")...)
			s.hold(3100, 3150, 1, "t1")
		}, []string{"liveness: long-lease"}},
		{"its claimed life reads as ever", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX", "PX", "3000")
			s.nemesis(20, crash(0))
			s.queue(100, 2900, 1, "nil", setPX("t1")...)
			s.hold(3100, 3150, 1, "t1")
		}, []string{"liveness: long-lease", "liveness: orphaned-key"}},
		{"an EXPIRE that was long in coming", "setnx-expire", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "1")
			s.late(12, 2000, 0, "1", "EXPIRE", "lock", "1").Replied = 0
			s.done(300, 0, history.Info)
			s.queue(1300, 2800, 1, "0", "SETNX", "lock", "1")
			s.invoke(3100, 1, history.FAcquire)
			s.cmd(3101, 1, "1", "SETNX", "lock", "1")
			s.cmd(3102, 1, "1", "EXPIRE", "lock", "1")
			s.done(3103, 1, history.OK)
			s.give(3150, 1, "1", "DEL", "lock")
		}, []string{"liveness: no-expiry", "liveness: orphaned-key"}},
		{"a key of somebody alive who is just giving it back", "set-nx-px", func(s *story) {
			s.stranger(2, "SET", "lock", "t9", "PX", "3050")
			s.healed(5)
			s.queue(10, 3000, 1, "nil", setPX("t1")...)
			s.take(3100, 0, "OK", setPX("t0")...)
			s.invoke(3110, 0, history.FRelease)
			s.keys(3200)
		}, []string{"liveness: unknown"}},
		{"a life that was not over when the run ended", "set-nx-px", func(s *story) {
			s.healed(5)
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", "SET", "lock", "t0", "NX", "PX", "1000000")
			s.done(300, 0, history.Info)
			s.queue(1320, 4000, 1, "nil", setPX("t1")...)
			s.keys(4100)
		}, []string{"liveness: long-lease"}},
	})
}

// The clocks of two clients matter: the one that wrote a time into the key, and the one that compares
// this time with its own. The clocks of other clients are not to blame.
func TestLivenessBlamesTheClocksOfThoseConcerned(t *testing.T) {
	skew := func(s *story, at float64, client int, ahead float64) {
		s.nemesis(at, history.Op{Client: client, F: history.FClock, Offset: ms(ahead)})
	}
	// c0 crashes and leaves a time, stamp, in the key. c1 makes attempts up to the time until, and
	// each attempt finds that stamp.
	blocked := func(s *story, stamp, until float64) {
		s.take(10, 0, "1", "SETNX", "lock", millisOf(stamp))
		s.nemesis(20, crash(0))
		s.healed(30)
		for at := 1300.0; at < until; at += 100 {
			s.invoke(at-1, 1, history.FAcquire)
			s.cmd(at, 1, "0", "SETNX", "lock", millisOf(at+1000))
			s.cmd(at+1, 1, quoted(millisOf(stamp)), "GET", "lock")
			s.done(at+2, 1, history.Fail)
		}
	}
	takenOver := func(s *story, at, stamp float64) {
		s.invoke(at-1, 1, history.FAcquire)
		s.cmd(at, 1, "0", "SETNX", "lock", millisOf(at+1000))
		s.cmd(at+1, 1, quoted(millisOf(stamp)), "GET", "lock")
		s.cmd(at+2, 1, "1", "DEL", "lock")
		s.cmd(at+3, 1, "1", "SETNX", "lock", millisOf(at+1003))
		s.done(at+4, 1, history.OK)
		s.give(at+50, 1, "1", "DEL", "lock")
	}
	tales(t, []tale{
		{"the dead owner's clock was ahead", "setnx-takeover-del", func(s *story) {
			skew(s, 1, 0, 2000)
			blocked(s, 3010, 3000)
			takenOver(s, 3100, 3010)
		}, []string{"liveness: client-clock"}},
		{"the dead owner's clock was minutes ahead", "setnx-takeover-del", func(s *story) {
			skew(s, 1, 0, 300_000)
			blocked(s, 301_010, 5000)
			s.keys(5100)
		}, []string{"liveness: client-clock"}},
		{"the waiting client's clock is behind", "setnx-takeover-del", func(s *story) {
			skew(s, 1, 1, -2000)
			blocked(s, 1010, 3000)
			takenOver(s, 3100, 1010)
		}, []string{"liveness: client-clock"}},
		{"somebody else's clock was wrong", "setnx-takeover-del", func(s *story) {
			skew(s, 1, 2, 300_000)
			blocked(s, 3010, 3000)
			takenOver(s, 3100, 3010)
		}, []string{"liveness: orphaned-key"}},
		{"a time that nobody reads is no key for ever", "setnx-takeover-del", func(s *story) {
			skew(s, 1, 2, 300_000)
			blocked(s, 301_010, 5000)
			s.keys(5100)
		}, []string{"liveness: orphaned-key"}},
	})
}

func TestANodesClockIsToldInWords(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.take(10, 0, "OK", setPX("t0")...)
	s.nemesis(20, crash(0))
	s.nodeClock(50, "n0", -2000)
	s.queue(1100, 2900, 1, "nil", setPX("t1")...)
	s.take(3100, 1, "OK", setPX("t1")...)
	v := liveness(t.Context(), NewCase(s.evidence()))
	if len(v.Findings) != 1 || v.Findings[0].From < 1010*time.Millisecond {
		t.Fatalf("got %+v, want one finding from after the key's own life", v)
	}
	want := "n0's wall clock had been set back, or was set right, so that lock lived beyond 1.010s"
	if got := plain.Summary(v.Findings[0]); !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant … %s", got, want)
	}
}
