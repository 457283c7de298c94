package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// onNodes adds the same command on each of these nodes, a millisecond apart. The last of them
// becomes the current node.
func (s *story) onNodes(at float64, client int, nodes []int, reply string, args ...string) {
	for i, n := range nodes {
		s.node = fmt.Sprintf("n%d", n)
		s.cmd(at+float64(i), client, reply, args...)
	}
}

// vote adds an acquire on five nodes: the nodes in yes grant it, the nodes in no refuse it. If
// fewer than three grant it, the client removes its keys again and the acquire fails.
func (s *story) vote(at float64, client int, token string, yes, no []int) {
	s.invoke(at-1, client, history.FAcquire)
	s.onNodes(at, client, yes, "OK", setPX(token)...)
	s.onNodes(at+float64(len(yes)), client, no, "nil", setPX(token)...)
	if len(yes) < 3 {
		s.onNodes(at+6, client, yes, "1", s.cad(token)...)
		s.done(at+15, client, history.Fail)
		return
	}
	s.done(at+8, client, history.OK, history.Lease{Token: token})
}

var (
	allNodes  = []int{0, 1, 2, 3, 4}
	majority  = []int{0, 1, 2}
	otherHalf = []int{3, 4}
)

func TestCausesOfLostRenewals(t *testing.T) {
	// c1 gets the lock at 2100, although c0 believes until 2300 that it holds the lock.
	rob := func(s *story) {
		s.hold(2100, 2200, 1, "t1")
		s.give(2300, 0, "0", s.cad("t0")...)
	}
	tales(t, []tale{
		{"one lost reply ends the watchdog", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.cmd(343, 0, "1", "EXPIRE", "lock", "1")
			s.unanswered(676, 0, "1", "EXPIRE", "lock", "1")
			rob(s)
		}, []string{"exclusion: renewal-failed"}},
		{"renewals that do not arrive", "reentrant-hash-watchdog", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.lost(343, 0, s.script("hash-renew", []string{"lock"}, "owner-zero", "1")...)
			s.holdHash(1200, 1250, 1, "owner-one")
			s.give(1300, 0, "nil", s.leave("owner-zero")...)
		}, []string{"exclusion: renewal-failed"}},
		{"a renewal that loses its race with the expiry", "set-nx-ex-bounded-renewal", func(s *story) {
			renew := s.script("compare-and-expire", []string{"lock"}, "token-zero", "1")
			s.take(10, 0, "OK", "SET", "lock", "token-zero", "EX", "1", "NX")
			s.cmd(12, 0, "1", renew...)
			s.cmd(1014, 0, "0", renew...)
			s.take(1100, 1, "OK", "SET", "lock", "token-one", "EX", "1", "NX")
			s.give(1200, 1, "1", s.cad("token-one")...)
			s.give(1300, 0, "0", s.cad("token-zero")...)
		}, []string{"exclusion: renewal-failed"}},
		{"no renewal at all", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.cmd(343, 0, "1", "EXPIRE", "lock", "1")
			rob(s)
		}, []string{"exclusion: renewal-failed"}},
		{"a holder that is frozen cannot renew", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.fault(400, history.Invoke, 0)
			s.cmd(343, 0, "1", "EXPIRE", "lock", "1")
			s.hold(1500, 1600, 1, "t1")
			s.fault(1900, history.Info, 0)
			s.cmd(1901, 0, "0", "EXPIRE", "lock", "1")
			s.give(2300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a reply that was lost long before is no excuse for a frozen holder", "redisson", func(s *story) {
			enter := func(o string) []string { return s.script("redisson-enter", []string{"lock"}, o, "1000") }
			leave := func(o string) []string { return s.script("redisson-leave", []string{"lock", "channel"}, o, "1000") }
			renew := s.script("redisson-renew", []string{"lock"}, "owner-zero", "1000")
			s.take(10, 0, "nil", enter("owner-zero")...)
			s.unanswered(343, 0, "1", renew...)
			s.cmd(500, 0, "1", renew...)
			s.fault(600, history.Invoke, 0)
			s.take(1600, 1, "nil", enter("owner-one")...)
			s.give(1700, 1, "1", leave("owner-one")...)
			s.fault(1800, history.Info, 0)
			s.give(1900, 0, "nil", leave("owner-zero")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a holder whose renewals are held up is not frozen", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.fault(300, history.Invoke, 0)
			s.hold(1100, 1200, 1, "t1")
			s.fault(1900, history.Info, 0)
			s.late(343, 1901, 0, "0", "EXPIRE", "lock", "1")
			s.give(2300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: renewal-failed"}},
		{"no renewal while connections are reset is no freeze", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.fault(900, history.Invoke, 0, history.Reset)
			s.hold(1100, 1200, 1, "t1")
			s.fault(1300, history.Info, 0, history.Reset)
			s.give(1900, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: renewal-failed"}},
		{"no renewal while the client is paused is one", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.fault(900, history.Invoke, 0, history.Paused)
			s.hold(1100, 1200, 1, "t1")
			s.fault(1300, history.Info, 0, history.Paused)
			s.give(1900, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a renewal of another lease is none of this one", "set-nx-ex-bounded-renewal", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "token-zero", "EX", "1", "NX")
			s.cmd(500, 0, "0", s.script("compare-and-expire", []string{"lock"}, "token-older", "1")...)
			s.fault(600, history.Invoke, 0)
			s.take(1100, 1, "OK", "SET", "lock", "token-one", "EX", "1", "NX")
			s.give(1200, 1, "1", s.cad("token-one")...)
			s.fault(1300, history.Info, 0)
			s.give(1400, 0, "0", s.cad("token-zero")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a fault on the holder that leaves it running does not excuse it", "set-nx-px-watchdog", func(s *story) {
			s.fault(5, history.Invoke, 0)
			s.take(10, 0, "OK", setPX("t0")...)
			s.cmd(343, 0, "1", "EXPIRE", "lock", "1")
			rob(s)
			s.fault(2400, history.Info, 0)
		}, []string{"exclusion: renewal-failed"}},
	})
}

func TestCausesAmongSeveralNodes(t *testing.T) {
	tales(t, []tale{
		{"grants that ended before they were known", "redlock-naive", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.onNodes(10, 0, []int{0, 1, 2, 3}, "OK", setPX("t0")...)
			s.node = "n4"
			s.late(14, 1500, 0, "OK", setPX("t0")...)
			s.done(1501, 0, history.OK)
			s.vote(1600, 1, "t1", []int{0, 1, 2, 3}, []int{4})
			s.give(1700, 1, "0", s.cad("t1")...)
			s.give(1800, 0, "1", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"one node that restarts empty votes twice", "redlock", func(s *story) {
			s.vote(10, 0, "t0", majority, nil)
			s.nemesis(30, history.Op{Client: history.NoClient, F: history.FNodeDown, Node: "n2"})
			s.nemesis(40, history.Op{Client: history.NoClient, F: history.FNodeUp, Node: "n2", Error: "all keys"})
			s.vote(50, 1, "t1", []int{2, 3, 4}, []int{0, 1})
			s.give(100, 1, "0", s.cad("t1")...)
			s.give(200, 0, "1", s.cad("t0")...)
		}, []string{"exclusion: server-lost-key"}},
		{"a restart that was not needed is not to blame", "redlock-naive", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			s.nemesis(30, history.Op{Client: history.NoClient, F: history.FNodeDown, Node: "n2"})
			s.nemesis(40, history.Op{Client: history.NoClient, F: history.FNodeUp, Node: "n2", Error: "all keys"})
			s.vote(50, 2, "t2", []int{2}, []int{0, 1, 3, 4})
			s.node = "n0"
			s.lost(343, 0, "EXPIRE", "lock", "1")
			s.vote(1100, 1, "t1", allNodes, nil)
			s.give(1150, 1, "1", s.cad("t1")...)
			s.give(1200, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: renewal-failed"}},
		{"a quorum that is none grants twice", "redlock", func(s *story) {
			s.vote(10, 0, "t0", majority, nil)
			s.invoke(49, 1, history.FAcquire)
			s.onNodes(50, 1, otherHalf, "OK", setPX("t1")...)
			s.done(55, 1, history.OK)
			s.give(100, 1, "1", s.cad("t1")...)
			s.node = "n0"
			s.give(200, 0, "1", s.cad("t0")...)
		}, []string{"exclusion: race"}},
	})
}

// touch adds a complete read or write of the resource.
func (s *story) touch(at float64, client int, f string, value, seq int64) {
	s.invoke(at-0.5, client, f)
	op := s.open[client]
	delete(s.open, client)
	op.Type, op.Value, op.Seq = history.OK, []int64{value}, seq
	s.entry(at, op)
}

func TestCausesOfDisturbedResources(t *testing.T) {
	tales(t, []tale{
		{"a deadline guards the belief and not the resource", "redlock", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.onNodes(10, 0, allNodes, "OK", setPX("t0")...)
			s.done(16, 0, history.OK, history.Lease{Token: "t0", Deadline: ms(1009)})
			s.touch(20, 0, history.FRead, 0, 1)
			s.invoke(1099, 1, history.FAcquire)
			s.onNodes(1100, 1, allNodes, "OK", setPX("t1")...)
			s.done(1106, 1, history.OK, history.Lease{Token: "t1", Deadline: ms(2099)})
			s.touch(1110, 1, history.FRead, 0, 2)
			s.touch(1120, 1, history.FWrite, 1, 3)
			s.touch(1130, 0, history.FWrite, 1, 4)
			s.give(1140, 0, "0", s.cad("t0")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, []string{"resource: lease-outlived"}},
		{"a lost update beside a race has the race's cause", "exists-set", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1")
			s.take(20, 1, "OK", "SET", "lock", "1")
			s.touch(30, 0, history.FRead, 0, 1)
			s.touch(31, 1, history.FRead, 0, 2)
			s.touch(32, 1, history.FWrite, 1, 3)
			s.touch(33, 0, history.FWrite, 1, 4)
			s.give(50, 1, "1", "DEL", "lock")
			s.give(60, 0, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: foreign-delete", "resource: race"}},
	})
}

// TestClocksThatDelayedNoDeadlineAreNotToBlame: a client's wall clock explains the client's
// late write only if the clock delayed its deadline.
func TestClocksThatDelayedNoDeadlineAreNotToBlame(t *testing.T) {
	type step struct{ at, ahead float64 }
	late := func(steps ...step) func(*story) {
		return func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.onNodes(10, 0, allNodes, "OK", setPX("t0")...)
			s.done(16, 0, history.OK, history.Lease{Token: "t0", Deadline: ms(1009)})
			s.touch(20, 0, history.FRead, 0, 1)
			for _, c := range steps {
				s.nemesis(c.at, history.Op{Client: 0, F: history.FClock, Offset: ms(c.ahead)})
			}
			s.invoke(1099, 1, history.FAcquire)
			s.onNodes(1100, 1, allNodes, "OK", setPX("t1")...)
			s.done(1106, 1, history.OK, history.Lease{Token: "t1", Deadline: ms(2099)})
			s.touch(1110, 1, history.FRead, 0, 2)
			s.touch(1120, 1, history.FWrite, 1, 3)
			s.touch(1130, 0, history.FWrite, 1, 4)
			s.give(1140, 0, "0", s.cad("t0")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}
	}
	clock, outlived := "resource: client-clock", "resource: lease-outlived"
	tales(t, []tale{
		{"set forward and right again", "redlock", late(step{200, 2500}, step{900, 0}), []string{outlived}},
		{"set forward and right again at once", "redlock", late(step{200, 100}, step{200, 0}), []string{outlived}},
		{"set forward for good", "redlock", late(step{200, 2500}), []string{outlived}},
		{"set forward and right again after the key", "redlock", late(step{200, 2500}, step{1050, 0}), []string{outlived}},
		{"set back for good", "redlock", late(step{200, -2500}), []string{"exclusion: client-clock", clock}},
		{"set forward, then back", "redlock", late(step{200, 2500}, step{900, -2500}), []string{clock}},
	})
}

func TestCausesOfReentry(t *testing.T) {
	set := func(token string) []string { return []string{"SET", "lock", token, "EX", "1", "NX"} }
	tales(t, []tale{
		{"a count in memory re-enters what expired", "reentrant-local", func(s *story) {
			s.take(10, 0, "OK", set("token-zero")...)
			s.take(1100, 1, "OK", set("token-one")...)
			s.invoke(1150, 0, history.FAcquire)
			s.done(1151, 0, history.OK)
			s.invoke(1160, 0, history.FRelease)
			s.done(1161, 0, history.OK)
			s.give(1200, 0, "0", s.cad("token-zero")...)
			s.give(1300, 1, "1", s.cad("token-one")...)
		}, []string{"exclusion: lease-outlived", "reentrancy: lease-outlived"}},
		{"a count in memory re-enters what a node lost", "reentrant-local", func(s *story) {
			s.take(10, 0, "OK", set("token-zero")...)
			s.down(30)
			s.up(40, allKeys)
			s.take(100, 1, "OK", set("token-one")...)
			s.invoke(150, 0, history.FAcquire)
			s.done(151, 0, history.OK)
			s.invoke(160, 0, history.FRelease)
			s.done(161, 0, history.OK)
			s.give(200, 0, "0", s.cad("token-zero")...)
			s.give(300, 1, "1", s.cad("token-one")...)
		}, []string{"exclusion: server-lost-key", "reentrancy: server-lost-key"}},
		{"an early release of one's own is the protocol's own fault", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.take(20, 0, "1", s.enter("owner-zero")...)
			s.give(30, 0, "1", "DEL", "lock")
			s.holdHash(40, 50, 1, "owner-one")
			s.give(60, 0, "nil", s.leave("owner-zero")...)
		}, []string{"exclusion: race", "reentrancy: race"}},
	})
}

func TestWhatCannotBeToldApartIsUnclassified(t *testing.T) {
	tales(t, []tale{
		{"no commands, and nobody saw the keys", "set-nx-px", func(s *story) {
			twoHoldersByExpiry(s)
			s.e.Commands, s.unwatched = nil, true
		}, []string{"exclusion: unclassified", "liveness: unknown"}},
		{"a script that nobody declared", "set-nx-px", func(s *story) {
			acquire := []string{"EVAL", `return redis.call("SET", KEYS[1], ARGV[1])`, "1", "lock"}
			s.take(10, 0, "OK", append(acquire, "token-zero")...)
			s.take(20, 1, "OK", append(acquire, "token-one")...)
			s.give(30, 0, "0", s.cad("token-zero")...)
			s.give(40, 1, "1", s.cad("token-one")...)
		}, []string{"exclusion: race", "ownership: race"}},
		{"commands in an order that nobody saw", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.invoke(1100, 0, history.FRelease)
			s.invoke(1100, 1, history.FAcquire)
			s.late(1101, 1110, 0, "1", "DEL", "lock")
			s.late(1102, 1111, 1, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.done(1120, 0, history.OK)
			s.done(1120, 1, history.OK)
			s.holdEX(1130, 1140, 2)
			s.give(1150, 1, "0", "DEL", "lock")
			for i := range s.e.Commands {
				c := &s.e.Commands[i]
				c.Exec, c.Arrived, c.Served = 0, 0, 0
			}
		}, []string{"exclusion: unclassified", "liveness: unknown", "ownership: unknown"}},
	})
}

func TestAFindingIsCompletedWithItsReasonAndCommands(t *testing.T) {
	s := tell(t, "set-nx-px")
	twoHoldersByExpiry(s)
	v, err := exclusion(t.Context(), NewCase(s.evidence()))
	if err != nil || len(v.Findings) != 1 {
		t.Fatalf("got %+v, %v, want one finding", v, err)
	}
	f := v.Findings[0]
	if !strings.Contains(plain.Summary(f), "lock had expired at 1.010s, 1s after") {
		t.Errorf("the summary does not say why: %q", plain.Summary(f))
	}
	if want := []int{0}; !slices.Equal(f.Commands, want) {
		t.Errorf("got commands %v, want %v: c0's SET, whose life ended", f.Commands, want)
	}
}

func TestAReplyOfNOSCRIPTThatIsLostIsARenewalThatFailed(t *testing.T) {
	s := tell(t, "reentrant-hash-watchdog")
	s.take(10, 0, "1", s.enter("owner-zero")...)
	s.unanswered(343, 0, "NOSCRIPT No matching script. Please use EVAL.", s.script("hash-renew", []string{"lock"}, "owner-zero", "1")...)
	s.holdHash(1200, 1250, 1, "owner-one")
	s.give(1300, 0, "nil", s.leave("owner-zero")...)
	v, err := exclusion(t.Context(), NewCase(s.evidence()))
	if err != nil || len(v.Findings) != 1 {
		t.Fatalf("got %+v, %v, want one finding", v, err)
	}
	if want := "c0 never got the reply to its script hash-renew of 0.342800s"; !strings.Contains(plain.Summary(v.Findings[0]), want) {
		t.Errorf("got  %s\nwant %s", plain.Summary(v.Findings[0]), want)
	}
}

func TestAFindingWithoutAcquiresRestsOnTheLatest(t *testing.T) {
	s := tell(t, "set-nx-px")
	twoHoldersByExpiry(s)
	e := s.evidence()
	given := []Finding{{Cause: Unclassified, Lock: "lock", Clients: []int{1, 0}, From: ms(1150)}}
	if got := classifyFindings(NewCase(e), given); len(got) != 1 || got[0].Cause != LeaseOutlived {
		t.Errorf("got %+v, want lease-outlived", got)
	}
}

func TestFindingsThatHaveACauseAreLeftAlone(t *testing.T) {
	s := tell(t, "set-nx-px")
	twoHoldersByExpiry(s)
	given := []Finding{{Cause: FenceRegressed, Summary: "as it was", Clients: []int{1, 0}}}
	if got := classifyFindings(NewCase(s.evidence()), given); len(got) != 1 || plain.Summary(got[0]) != "as it was" || got[0].Cause != FenceRegressed {
		t.Errorf("got %+v, want it unchanged", got)
	}
}

// If a key's TTL is shorter than the requested lease, the lock itself is at fault. If the key
// expires because its holder stays too long, the lock is not at fault.
func TestAShortLifeIsNoLeaseThatWasOutlived(t *testing.T) {
	take := func(s *story, life string) {
		s.take(10, 0, "OK", "SET", "lock", "t0", "PX", life, "NX")
	}
	rob := func(s *story, at float64) {
		s.hold(at, at+50, 1, "t1")
		s.give(at+100, 0, "0", s.cad("t0")...)
	}
	tales(t, []tale{
		{"half of the lease", "set-nx-px", func(s *story) { take(s, "500"); rob(s, 600) }, []string{"exclusion: short-lease"}},
		{"a little less", "set-nx-px", func(s *story) { take(s, "900"); rob(s, 950) }, []string{"exclusion: short-lease"}},
		{"half, but the other came later", "set-nx-px", func(s *story) { take(s, "500"); rob(s, 1100) }, []string{"exclusion: lease-outlived"}},
		{"the whole lease", "set-nx-px", func(s *story) { take(s, "1000"); rob(s, 1100) }, []string{"exclusion: lease-outlived"}},
		{"half of the lease, as its owner was told", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "OK", "SET", "lock", "t0", "PX", "500", "NX")
			s.done(11, 0, history.OK, history.Lease{Token: "t0", Deadline: ms(509)})
			s.touch(20, 0, history.FRead, 0, 1)
			s.take(600, 1, "OK", setPX("t1")...)
			s.touch(610, 1, history.FRead, 0, 2)
			s.touch(620, 1, history.FWrite, 1, 3)
			s.touch(630, 0, history.FWrite, 1, 4)
			s.give(640, 0, "0", s.cad("t0")...)
			s.give(650, 1, "1", s.cad("t1")...)
		}, []string{"resource: lease-outlived"}},
		{"half of the lease, renewed", "set-nx-px-watchdog", func(s *story) { take(s, "500"); rob(s, 600) }, []string{"exclusion: renewal-failed"}},
	})
}
