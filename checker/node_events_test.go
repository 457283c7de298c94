package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestCausesOfEvictions(t *testing.T) {
	tales(t, []tale{
		{"a key that its node evicted", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.evict(50)
			s.hold(100, 200, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-lost-key"}},
		{"a key without a life", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.evict(50)
			s.take(100, 1, "1", "SETNX", "lock", "1")
			s.give(300, 0, "1", "DEL", "lock")
			s.give(400, 1, "0", "DEL", "lock")
		}, []string{"exclusion: server-lost-key", "ownership: foreign-delete"}},
		{"a hash", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.evict(50)
			s.holdHash(100, 200, 1, "owner-one")
			s.give(300, 0, "nil", s.leave("owner-zero")...)
		}, []string{"exclusion: server-lost-key"}},
		{"a renewal does not bring back what was evicted", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.evict(50)
			s.cmd(343, 0, "0", "EXPIRE", "lock", "1")
			s.hold(1500, 1600, 1, "t1")
			s.give(1900, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-lost-key"}},
		{"an eviction that came when the key was gone", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.evict(1050)
			s.hold(1100, 1200, 1, "t1")
			s.give(1300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a key that comes back from the disk after others have had it", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.evict(50)
			s.take(100, 1, "OK", setPX("t1")...)
			s.down(250)
			s.up(255, &history.Lost{Writes: 2})
			s.give(300, 0, "1", s.cad("t0")...)
			s.give(400, 1, "0", s.cad("t1")...)
		}, []string{"exclusion: server-lost-key"}},
	})
}

func TestEvictionsOfWhatDoesNotMatter(t *testing.T) {
	tales(t, []tale{
		{"another key of the node", "set-nx-px", func(s *story) {
			s.cmd(5, 2, "OK", "SET", "other", "1")
			s.take(10, 0, "OK", setPX("t0")...)
			s.evict(50, "other")
			s.give(100, 0, "1", s.cad("t0")...)
		}, nil},
		{"a majority of nodes", "redlock", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			for _, n := range []string{"n0", "n1", "n2"} {
				s.at(n)
				s.evict(50)
			}
			s.vote(100, 1, "t1", majority, otherHalf)
			s.give(200, 1, "0", s.cad("t1")...)
			s.give(300, 0, "1", s.cad("t0")...)
		}, []string{"exclusion: server-lost-key"}},
		{"one node, of which there was no need", "redlock", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			s.at("n2")
			s.evict(50)
			s.vote(100, 1, "t1", []int{2}, []int{0, 1, 3, 4})
			s.give(300, 0, "0", s.cad("t0")...)
		}, nil},
		{"a count in memory re-enters what was evicted", "reentrant-local", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "token-zero", "EX", "1", "NX")
			s.evict(50)
			s.take(100, 1, "OK", "SET", "lock", "token-one", "EX", "1", "NX")
			s.invoke(150, 0, history.FAcquire)
			s.done(151, 0, history.OK)
			s.invoke(160, 0, history.FRelease)
			s.done(161, 0, history.OK)
			s.give(200, 0, "0", s.cad("token-zero")...)
			s.give(300, 1, "1", s.cad("token-one")...)
		}, []string{"exclusion: server-lost-key", "reentrancy: server-lost-key"}},
	})
}

func TestCausesOfSplitBrains(t *testing.T) {
	tales(t, []tale{
		{"a grant that the new primary never heard of", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.split(50, 1)
			s.at("n1")
			s.hold(100, 200, 1, "t1")
			s.at("n0")
			s.give(300, 0, "1", s.cad("t0")...)
			s.promote(400, "n1")
		}, []string{"exclusion: server-lost-key"}},
		{"two grants by two primaries", "set-nx-px", func(s *story) {
			s.hold(2, 4, 2, "t2")
			s.split(50, 1, 2)
			s.take(60, 0, "OK", setPX("t0")...)
			s.at("n1")
			s.hold(100, 200, 1, "t1")
			s.at("n0")
			s.give(300, 0, "1", s.cad("t0")...)
			s.promote(400, "n1")
		}, []string{"exclusion: server-lost-key"}},
		{"the old primary grants beside the new one", "set-nx-px", func(s *story) {
			s.hold(2, 4, 2, "t2")
			s.split(50, 1)
			s.at("n1")
			s.take(60, 1, "OK", setPX("t1")...)
			s.at("n0")
			s.hold(100, 200, 0, "t0")
			s.at("n1")
			s.give(300, 1, "1", s.cad("t1")...)
			s.promote(400, "n1")
		}, []string{"exclusion: server-lost-key"}},
		{"what only the old primary had is lost in the end", "set-nx-px", func(s *story) {
			s.hold(2, 4, 1, "t1")
			s.split(50, 1)
			s.take(60, 0, "OK", setPX("t0")...)
			s.promote(100, "n1")
			s.hold(200, 300, 1, "t3")
			s.give(400, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-lost-key"}},
	})
}

func TestWhatBothSidesOfASplitHave(t *testing.T) {
	tales(t, []tale{
		{"what the new primary had heard of is there on both sides and after", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.split(50, 1)
			s.busy(60, 2, "nil", setPX("t2")...)
			s.at("n1")
			s.busy(100, 1, "nil", setPX("t1")...)
			s.promote(200, "n1")
			s.busy(300, 2, "nil", setPX("t3")...)
			s.give(400, 0, "1", s.cad("t0")...)
		}, nil},
		{"renewals that reach the old primary only", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.split(50, 1)
			s.cmd(343, 0, "1", "EXPIRE", "lock", "1")
			s.cmd(676, 0, "1", "EXPIRE", "lock", "1")
			s.cmd(1010, 0, "1", "EXPIRE", "lock", "1")
			s.at("n1")
			s.busy(500, 1, "nil", setPX("t1")...)
			s.hold(1100, 1200, 1, "t1")
			s.at("n0")
			s.give(1250, 0, "1", s.cad("t0")...)
			s.promote(1300, "n1")
		}, []string{"exclusion: server-lost-key"}},
		{"renewals that reach the new primary only", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.split(50, 0)
			s.at("n1")
			s.cmd(343, 0, "1", "EXPIRE", "lock", "1")
			s.cmd(676, 0, "1", "EXPIRE", "lock", "1")
			s.cmd(1010, 0, "1", "EXPIRE", "lock", "1")
			s.at("n0")
			s.hold(1100, 1200, 1, "t1")
			s.at("n1")
			s.give(1250, 0, "1", s.cad("t0")...)
			s.promote(1300, "n1")
		}, []string{"exclusion: server-lost-key"}},
		{"a lease that is overrun on both sides", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.split(50, 1)
			s.at("n1")
			s.busy(500, 1, "nil", setPX("t1")...)
			s.hold(1100, 1200, 1, "t1")
			s.at("n0")
			s.give(1250, 0, "0", s.cad("t0")...)
			s.promote(1300, "n1")
		}, []string{"exclusion: lease-outlived"}},
	})
}

func TestSplitsThatAreNotToBlame(t *testing.T) {
	tales(t, []tale{
		{"a lease of one side that was overrun when the other side granted", "set-nx-px", func(s *story) {
			s.hold(2, 4, 2, "t2")
			s.split(10, 1)
			s.take(20, 0, "OK", setPX("t0")...)
			s.at("n1")
			s.hold(1100, 1200, 1, "t1")
			s.at("n0")
			s.give(1250, 0, "0", s.cad("t0")...)
			s.promote(1300, "n1")
		}, []string{"exclusion: lease-outlived"}},
		{"a race on one side stays a race", "exists-set", func(s *story) {
			s.take(2, 2, "OK", "SET", "lock", "1")
			s.give(4, 2, "1", "DEL", "lock")
			s.split(50, 0, 1)
			s.at("n1")
			s.invoke(59, 0, history.FAcquire)
			s.invoke(59, 1, history.FAcquire)
			s.cmd(60, 0, "0", "EXISTS", "lock")
			s.cmd(61, 1, "0", "EXISTS", "lock")
			s.cmd(62, 0, "OK", "SET", "lock", "1")
			s.cmd(63, 1, "OK", "SET", "lock", "1")
			s.done(64, 0, history.OK)
			s.done(64, 1, history.OK)
			s.give(100, 0, "1", "DEL", "lock")
			s.give(110, 1, "0", "DEL", "lock")
			s.promote(200, "n1")
		}, []string{"exclusion: race", "ownership: foreign-delete"}},
		{"a release that the new primary never heard of", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.split(50, 1)
			s.give(60, 0, "1", s.cad("t0")...)
			s.at("n1")
			s.queue(100, 900, 1, "nil", setPX("t1")...)
			s.hold(1100, 1200, 1, "t1")
			s.promote(1300, "n1")
		}, []string{"liveness: orphaned-key"}},
	})
}

func TestReleasesThatANodeNeverHeardOf(t *testing.T) {
	tales(t, []tale{
		{"a release that was not replicated when the brain split", "set-nx-ex", func(s *story) {
			s.holdEX(10, 48, 2)
			s.split(50, 1)
			s.take(60, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.at("n1")
			s.queue(70, 170, 1, "nil", "SET", "lock", "1", "EX", "1", "NX")
			s.promote(200, "n1")
			s.give(210, 0, "1", "DEL", "lock")
			s.holdEX(300, 400, 1)
		}, nil},
		{"a release that was not replicated, whose key expires", "set-nx-ex", func(s *story) {
			s.holdEX(10, 48, 2)
			s.promote(50, "n1")
			s.queue(60, 1000, 1, "nil", "SET", "lock", "1", "EX", "1", "NX")
			s.holdEX(1100, 1200, 1)
		}, []string{"liveness: orphaned-key"}},
		{"a release that a restart forgot", "set-nx-px", func(s *story) {
			s.hold(10, 48, 2, "t2")
			s.down(50)
			s.up(55, someWrites)
			s.queue(60, 1000, 1, "nil", setPX("t1")...)
			s.hold(1100, 1200, 1, "t1")
		}, []string{"liveness: orphaned-key"}},
	})
}

func TestEntriesThatANodeNeverHeardOf(t *testing.T) {
	tales(t, []tale{
		{"an entry that the new primary had not heard of", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.promote(20, "n1")
			s.holdHash(30, 40, 0, "owner-zero")
			s.holdHash(50, 60, 1, "owner-one")
			s.give(70, 0, "nil", s.leave("owner-zero")...)
		}, []string{"exclusion: server-lost-key"}},
		{"an entry that was evicted before the next", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.evict(20)
			s.holdHash(30, 40, 0, "owner-zero")
			s.holdHash(50, 60, 1, "owner-one")
			s.give(70, 0, "nil", s.leave("owner-zero")...)
		}, []string{"exclusion: server-lost-key"}},
		{"an entry that had expired before the next", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.holdHash(1100, 1140, 0, "owner-zero")
			s.holdHash(1150, 1160, 1, "owner-one")
			s.give(1170, 0, "nil", s.leave("owner-zero")...)
		}, []string{"exclusion: lease-outlived"}},
	})
}

func TestWhoAsksOneOfTwoPrimaries(t *testing.T) {
	tales(t, []tale{
		{"whoever enters again on one of two primaries asks only that one", "reentrant-hash", func(s *story) {
			s.split(5, 1)
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.at("n1")
			s.take(20, 1, "1", s.enter("owner-one")...)
			s.take(30, 1, "1", s.enter("owner-one")...)
			s.give(40, 1, "0", s.leave("owner-one")...)
			s.give(50, 1, "1", s.leave("owner-one")...)
			s.at("n0")
			s.give(60, 0, "1", s.leave("owner-zero")...)
			s.promote(100, "n1")
		}, []string{"exclusion: server-lost-key"}},
		{"a primary that comes back has only what it is sent", "set-nx-px", func(s *story) {
			s.split(5, 1)
			s.take(10, 0, "OK", setPX("t0")...)
			s.promote(50, "n1")
			s.give(60, 0, "0", s.cad("t0")...)
			s.promote(70, "n0")
			s.hold(100, 200, 1, "t1")
		}, nil},
	})
}

func TestWhatNodesLoseIsToldInWords(t *testing.T) {
	for want, tale := range map[string]func(*story){
		"n0 evicted lock under memory pressure at 0.050s, which c0 had set at 0.010s": func(s *story) {
			s.evict(50)
		},
		"n1, primary of some clients since the split at 0.050s, did not have lock, which c0 had set at 0.010s": func(s *story) {
			s.split(50, 1)
			s.at("n1")
		},
	} {
		s := tell(t, "set-nx-px")
		s.take(10, 0, "OK", setPX("t0")...)
		tale(s)
		s.take(100, 1, "OK", setPX("t1")...)
		s.give(300, 0, "0", s.cad("t0")...)
		v, err := exclusion(t.Context(), NewCase(s.evidence()))
		if err != nil || len(v.Findings) != 1 || !strings.Contains(plain.Summary(v.Findings[0]), want) {
			t.Errorf("got %+v, %v\nwant … %s", v.Findings, err, want)
		}
	}
}

func TestNobodyDefinitelyHoldsWhatANodeMayHaveLost(t *testing.T) {
	for name, lose := range map[string]func(*story){
		"evicted":  func(s *story) { s.evict(50) },
		"split":    func(s *story) { s.split(50, 2); s.at("n1") },
		"promoted": func(s *story) { s.promote(50, "n1") },
	} {
		s := tell(t, "reentrant-local")
		s.take(10, 0, "OK", "SET", "lock", "token-zero", "EX", "1", "NX")
		lose(s)
		s.take(100, 1, "OK", "SET", "lock", "token-one", "EX", "1", "NX")
		s.invoke(150, 1, history.FAcquire)
		s.done(151, 1, history.OK)
		s.give(300, 0, "0", s.cad("token-zero")...)
		if got := judged(t, s.evidence()); slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, "reentrancy") }) {
			t.Errorf("%s: got %q, want nothing of reentrancy", name, got)
		}
	}
}

// A list in a second key records every grant. c0 outlives its lease, and c1 gets the lock. Then a
// replica without c1's grant is promoted. c0's entry in the list, which the replica has, does not
// make the failover the cause of the overlap.
func TestARecordThatOutlivesItsNodeLetsNobodyIn(t *testing.T) {
	take := func(s *story, at float64, client int, length, token string) {
		s.invoke(at-1, client, history.FAcquire)
		s.cmd(at, client, "OK", setPX(token)...)
		s.cmd(at+0.1, client, length, "LPUSH", "log", token)
		s.done(at+1, client, history.OK)
	}
	tales(t, []tale{
		{"the lease was over", "set-nx-px", func(s *story) {
			take(s, 10, 0, "1", "t0")
			take(s, 1100, 1, "2", "t1")
			s.promote(1105, "n1")
			s.cmd(1110, 2, "2", "LPUSH", "log", "t2")
			s.give(1200, 1, "0", s.cad("t1")...)
			s.give(1300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
	})
}

func TestEveryEventThatTakesKeysOrEndsTheTrialHasItsRow(t *testing.T) {
	for _, k := range history.EventKinds() {
		if _, ok := losses[k.F]; ok != (k.Keys == history.KeysReplaced || k.Keys == history.KeysEvicted) {
			t.Errorf("%s has a row in losses: %t", k.F, ok)
		}
		if _, ok := breakdowns[k.F]; ok != k.Breakdown {
			t.Errorf("%s has a row in breakdowns: %t", k.F, ok)
		}
	}
}
