package checker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// brokenBy judges the evidence. It returns the broken assumptions that the findings of one cause
// name, sorted, each once.
func brokenBy(t *testing.T, e history.Evidence, cause Cause) []string {
	t.Helper()
	verdicts, err := Judge(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	found, all := false, []string{}
	for _, v := range verdicts {
		for _, f := range v.Findings {
			if f.Cause == cause {
				found = true
				all = append(all, plain.Broken(f))
			}
		}
	}
	if !found {
		t.Errorf("nothing was found for %s", cause)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// window adds the entry that opens a fault's window (how is Invoke) or closes it (how is Info).
// over has the fault's targets.
func (s *story) window(at float64, how history.Type, client int, fault string, over history.Window) {
	over.Fault, over.ID, over.Hits = fault, 7, 1
	s.entry(at, history.Op{Process: history.Nemesis, Client: client, Type: how, F: fault, Window: &over})
}

// over returns the window of a fault that is aimed at the client.
func over(client int) history.Window { return history.Window{Clients: []int{client}} }

// cut returns the window of a fault that is aimed at the client's link to n0.
func cut(client int) history.Window {
	return history.Window{Links: []history.Link{{From: history.ClientName(client), To: "n0"}}}
}

// outlived adds a hold of c0 that outlives its lease while c1 gets the lock. The function during
// adds further events between the two grants.
func outlived(s *story, during func()) {
	s.take(10, 0, "OK", setPX("t0")...)
	during()
	s.hold(1100, 1150, 1, "t1")
	s.give(1200, 0, "0", s.cad("t0")...)
}

func TestFindingsNameTheAssumptionThatTheTrialBroke(t *testing.T) {
	for _, c := range []struct {
		name, recipe string
		cause        Cause
		tale         func(*story)
		want         string
	}{
		{"a frozen holder", "set-nx-px", LeaseOutlived, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.window(20, history.Invoke, 0, "some-freeze", over(0))
			s.take(1100, 1, "OK", setPX("t1")...)
			s.window(1101.5, history.Info, 0, "some-freeze", over(0))
			s.give(1150, 1, "1", s.cad("t1")...)
			s.give(1200, 0, "0", s.cad("t0")...)
		}, "that a client stops when its lease ends: c0 was frozen from 0.020s to 1.101500s (some-freeze)"},
		{"a frozen holder whose own deadline comes too late", "set-nx-px", LeaseOutlived, func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "OK", setPX("t0")...)
			s.done(11, 0, history.OK, history.Lease{Token: "t0", Deadline: ms(1500)})
			s.window(20, history.Invoke, 0, "some-freeze", over(0))
			s.take(1100, 1, "OK", setPX("t1")...)
			s.window(1101.5, history.Info, 0, "some-freeze", over(0))
			s.give(1150, 1, "1", s.cad("t1")...)
			s.give(1200, 0, "0", s.cad("t0")...)
		}, "that a client does not claim more than its lease: c0 claimed the lock until 1.202s, by a count of its own, under a lease that it had got at 0.010s and that ended at 1.010s"},
		{"a fault over somebody else explains nothing: the holder overran its lease", "set-nx-px", LeaseOutlived, func(s *story) {
			outlived(s, func() {
				s.window(20, history.Invoke, 1, "some-freeze", over(1))
				s.window(900, history.Info, 1, "some-freeze", over(1))
			})
		}, "that a client stops when its lease ends: c0 worked on until 1.199s under a lease that it had got at 0.010s and that ended at 1.010s"},
		{"a freeze that was over before the lease was is not to blame", "set-nx-px", LeaseOutlived, func(s *story) {
			outlived(s, func() {
				s.window(20, history.Invoke, 0, "some-freeze", over(0))
				s.window(900, history.Info, 0, "some-freeze", over(0))
			})
		}, "that a client stops when its lease ends: c0 worked on until 1.199s under a lease that it had got at 0.010s and that ended at 1.010s"},
		{"a holder that hangs did not stop working when the trial ended", "set-nx-px", LeaseOutlived, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(20, history.Op{Client: 0, F: history.FHung})
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, "that a client stops when its lease ends: c0 hung in its work until the trial ended, under a lease that it had got at 0.010s and that ended at 1.010s"},
		{"a holder that is still at work when the trial ends", "set-nx-px", LeaseOutlived, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, "that a client stops when its lease ends: c0 worked on until the trial ended under a lease that it had got at 0.010s and that ended at 1.010s"},
		{"a fault of the network is no freeze", "set-nx-px", LeaseOutlived, func(s *story) {
			outlived(s, func() { s.window(20, history.Invoke, 0, "some-cut", cut(0)) })
		}, "that a client stops when its lease ends: c0 worked on until 1.199s under a lease that it had got at 0.010s and that ended at 1.010s"},
		{"a client that says nothing while its link is cut was not frozen", "set-nx-px", LeaseOutlived, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.window(20, history.Invoke, 0, "some-cut", cut(0))
			s.take(1100, 1, "OK", setPX("t1")...)
			s.window(1101.5, history.Info, 0, "some-cut", cut(0))
			s.give(1150, 1, "1", s.cad("t1")...)
			s.give(1200, 0, "0", s.cad("t0")...)
		}, "that a client stops when its lease ends: c0 worked on until 1.199s under a lease that it had got at 0.010s and that ended at 1.010s"},
		{"a client that goes on under a fault was not frozen", "set-nx-px", LeaseOutlived, func(s *story) {
			outlived(s, func() {
				s.window(20, history.Invoke, 0, "some-skew", over(0))
				s.cmd(500, 0, "510", "PTTL", "lock")
			})
		}, "that a client stops when its lease ends: c0 worked on until 1.199s under a lease that it had got at 0.010s and that ended at 1.010s"},
		{"a grant that is told late", "set-nx-px", LeaseOutlived, func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "OK", setPX("t0")...).Replied = ms(1050)
			s.take(1040, 1, "OK", setPX("t1")...)
			s.done(1051, 0, history.OK, history.Lease{Token: "t0"})
			s.give(1150, 1, "1", s.cad("t1")...)
			s.give(1200, 0, "0", s.cad("t0")...)
		}, "that a message arrives or is lost within the lease: the reply to c0's SET, which ran at 0.010s, came at 1.050s"},
		{"a renewal that never arrives", "set-nx-px-watchdog", RenewalFailed, func(s *story) {
			outlived(s, func() { s.lost(343, 0, "EXPIRE", "lock", "1") })
		}, "that every message arrives and is answered: c0's EXPIRE, sent at 0.343s, never reached n0"},
		{"a renewal that is late", "set-nx-px-watchdog", RenewalFailed, func(s *story) {
			outlived(s, func() { s.late(343, 1050, 0, "0", "EXPIRE", "lock", "1") })
		}, "that a message arrives or is lost within the lease: c0's EXPIRE, sent at 0.343s, ran at 1.050s"},
		{"no renewal, and nothing in its way", "set-nx-px-watchdog", RenewalFailed, func(s *story) {
			outlived(s, func() {})
		}, ""},
		{"a restart without data", "set-nx-px", ServerLostKey, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.down(100)
			s.up(150, allKeys)
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, "that a node keeps what it acknowledged: n0 restarted at 0.150s and lost all keys"},
		{"an eviction", "set-nx-px", ServerLostKey, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(100, history.Op{Client: history.NoClient, F: history.FEvict, Node: "n0", Keys: []history.KeyState{{Key: "lock", Type: "string", Value: "t0"}}})
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, "that a node keeps what it acknowledged: n0 evicted lock at 0.100s"},
		{"a promotion", "set-nx-px", ServerLostKey, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.down(100)
			s.nemesis(101, history.Op{Client: history.NoClient, F: history.FPromote, Node: "n1"})
			s.node = "n1"
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, "that a replica has what its primary acknowledged: n1 was promoted at 0.101s and lacked writes that clients had seen acknowledged"},
		{"a node's clock", "set-nx-px", ServerClock, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(100, history.Op{Client: history.NoClient, F: history.FNodeClock, Node: "n0", Offset: ms(1500)})
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, "that clocks agree: n0's clock jumped ahead by 1.5s at 0.100s"},
		{"a node's clock that was soon set right again", "set-nx-px", ServerClock, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(100, history.Op{Client: history.NoClient, F: history.FNodeClock, Node: "n0", Offset: ms(1500)})
			s.take(200, 1, "OK", setPX("t1")...)
			s.nemesis(220, history.Op{Client: history.NoClient, F: history.FNodeClock, Node: "n0"})
			s.give(250, 1, "1", s.cad("t1")...)
			s.give(300, 0, "0", s.cad("t0")...)
		}, "that clocks agree: n0's clock jumped ahead by 1.5s at 0.100s"},
		{"a crash", "set-nx-px", OrphanedKey, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(100, history.Op{Client: 0, F: history.FCrash})
			s.busy(200, 1, "nil", setPX("t1")...)
			s.hold(1100, 1150, 1, "t1")
		}, "that a client lives to give back what it holds: c0 crashed at 0.100s"},
		{"a grant that was never told", "set-nx-px", OrphanedKey, func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.done(100, 0, history.Info)
			s.busy(200, 1, "nil", setPX("t1")...)
			s.hold(1100, 1150, 1, "t1")
		}, "that every message arrives and is answered: c0 never got the reply to its SET of 0.009800s"},
		{"a release that never arrived", "set-nx-px", OrphanedKey, func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(100, 0, history.FRelease)
			s.lost(101, 0, s.cad("t0")...)
			s.done(150, 0, history.Info)
			s.busy(200, 1, "nil", setPX("t1")...)
			s.hold(1100, 1150, 1, "t1")
		}, "that every message arrives and is answered: c0's script compare-and-delete, sent at 0.101s, never reached n0"},
		{"a command of an earlier lease", "lua-setnx-expire-owner", LateCommand, func(s *story) {
			enter := func(v string) []string { return s.script("setnx-then-expire", []string{"lock"}, v, "1") }
			s.take(10, 0, "1", enter("handle-0")...)
			s.invoke(100, 0, history.FRelease)
			s.done(400, 0, history.Info)
			s.take(1050, 0, "1", enter("handle-0")...)
			s.late(101, 1100, 0, "1", s.cad("handle-0")...).Replied = 0
			s.take(1150, 1, "1", enter("handle-1")...)
			s.give(1200, 1, "1", s.cad("handle-1")...)
			s.give(1300, 0, "0", s.cad("handle-0")...)
		}, "that a message arrives or is lost within the lease: c0's script compare-and-delete, sent at 0.101s, ran at 1.100s"},
		{"a bare DEL in time, of what another had overwritten", "exists-set", Race, func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.invoke(9, 1, history.FAcquire)
			s.cmd(10, 0, "0", "EXISTS", "lock")
			s.cmd(11, 1, "0", "EXISTS", "lock")
			s.cmd(12, 0, "OK", "SET", "lock", "1")
			s.cmd(13, 1, "OK", "SET", "lock", "1")
			s.done(14, 0, history.OK)
			s.done(14, 1, history.OK)
			s.give(100, 0, "1", "DEL", "lock")
			s.give(110, 1, "0", "DEL", "lock")
		}, ""},
		{"a bare DEL after the lease was overrun", "set-nx-ex", ForeignDelete, func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "EX", "1", "NX")
			s.window(20, history.Invoke, 0, "some-freeze", over(0))
			s.take(1100, 1, "OK", "SET", "lock", "t1", "EX", "1", "NX")
			s.window(1102, history.Info, 0, "some-freeze", over(0))
			s.give(1110, 0, "1", "DEL", "lock")
			s.take(1120, 2, "OK", "SET", "lock", "t2", "EX", "1", "NX")
			s.give(1150, 2, "1", "DEL", "lock")
			s.give(1200, 1, "0", "DEL", "lock")
		}, "that a client stops when its lease ends: c0 was frozen from 0.020s to 1.102s (some-freeze)"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			s := tell(t, c.recipe)
			c.tale(s)
			if got := brokenBy(t, s.evidence(), c.cause); !slices.Equal(got, []string{c.want}) {
				t.Errorf("\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestClientClocksThatWereBrokenAreNamed(t *testing.T) {
	s := tell(t, "rw-hash")
	write := func(at float64) []string {
		return s.script("hash-write", []string{"lock"}, millisOf(at), "1000", "3000", "10000")
	}
	s.invoke(9, 0, history.FAcquire, history.Write)
	s.cmd(10, 0, "1", write(10)...)
	s.done(11, 0, history.OK)
	s.nemesis(100, history.Op{Client: 1, F: history.FClock, Offset: ms(5000)})
	s.invoke(199, 1, history.FAcquire, history.Write)
	s.cmd(200, 1, "1", write(5200)...)
	s.done(201, 1, history.OK)
	want := "that clocks agree: c1's clock was 5s ahead from 0.100s on"
	if got := brokenBy(t, s.evidence(), ClientClock); !slices.Equal(got, []string{want}) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// A grant with fence 7 is followed by a grant with fence 1. If an event took the counter of fences
// from its node, the finding names that event. If the counter stood all the time, the recipe itself
// is to blame, and the finding names no broken assumption.
func TestFencesThatRegressNameWhatLostTheCounter(t *testing.T) {
	const source = `redis.call("SET", KEYS[1], "token") return redis.call("INCRBY", KEYS[2], 7)`
	for _, c := range []struct {
		name string
		tale func(*story)
		then string // the counter's value at the next grant
		want string
	}{
		{"nothing happened", func(*story) {}, "14", ""},
		{"a restart", func(s *story) { s.down(90); s.up(100, allKeys) }, "7",
			"that a node keeps what it acknowledged: n0 restarted at 0.100s and lost all keys"},
		{"a restart of another node", func(s *story) { s.at("n1"); s.down(90); s.up(100, allKeys); s.at("n0") }, "14", ""},
		{"a promotion", func(s *story) { s.promote(100, "n1") }, "7",
			"that a replica has what its primary acknowledged: n1 was promoted at 0.100s and lacked writes that clients had seen acknowledged"},
		{"an eviction", func(s *story) { s.evict(100, "lock:fence") }, "7",
			"that a node keeps what it acknowledged: n0 evicted lock:fence at 0.100s"},
		{"an eviction of another key", func(s *story) { s.evict(100, "other") }, "14", ""},
	} {
		s := tell(t, "set-nx-px")
		s.e.Claims = history.Claims{Quorum: 1, TTL: ms(1000), Recovery: ms(1000), Fenced: true}
		grant := func(at float64, client int, counted string, fence int64) {
			s.invoke(at-1, client, history.FAcquire)
			s.cmd(at, client, counted, "EVAL", source, "2", "lock", "lock:fence")
			s.done(at+1, client, history.OK, history.Lease{Fence: fence})
			s.give(at+20, client, "1", "DEL", "lock")
		}
		s.cmd(5, 2, "OK", "SET", "other", "1")
		grant(10, 0, "7", 7)
		c.tale(s)
		grant(200, 1, c.then, 1)
		if got := brokenBy(t, s.evidence(), FenceRegressed); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// A counter of fences needs no TTL. It belongs to no client, and keeps no client out.
func TestACounterOfFencesKeepsNobodyOut(t *testing.T) {
	s := tell(t, "fenced")
	take := s.script("set-and-count", []string{"lock", "lock:fence"}, "t0", "1000")
	s.invoke(9, 0, history.FAcquire)
	s.cmd(10, 0, "1", take...)
	s.done(11, 0, history.OK, history.Lease{Token: "t0", Fence: 1, Deadline: ms(1009)})
	s.nemesis(100, history.Op{Client: 0, F: history.FCrash})
	s.healed(200)
	s.invoke(5000, 1, history.FAcquire)
	s.lost(5001, 1, s.script("set-and-count", []string{"lock", "lock:fence"}, "t1", "1000")...)
	s.done(5100, 1, history.Info)
	s.keys(9000)
	verdicts, err := Judge(context.Background(), s.evidence())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		for _, f := range v.Findings {
			t.Errorf("%s: %s: %s", v.Oracle, f.Cause, plain.Summary(f))
		}
	}
}

func TestAFaultsTargetIsAClaimsNodeClientOrLink(t *testing.T) {
	claim := &keyspace.Grant{Client: 1, Node: "n0"}
	link := func(from, to string, d history.Direction) history.Window {
		return history.Window{Links: []history.Link{{From: "c0", To: "n0"}, {From: from, To: to, Direction: d}}}
	}
	for _, c := range []struct {
		over history.Window
		want string
	}{
		{history.Window{Nodes: []string{"n1", "n0"}}, "n0"},
		{over(1), "c1"},
		{history.Window{Clients: []int{0, 1}, Nodes: []string{"n0"}}, "c1"},
		{link("c1", "n0", history.Upstream), "c1→n0"},
		{link("c1", "n3", history.Downstream), "c1←n3"},
		{history.Window{Nodes: []string{"n1"}}, ""},
		{over(0), ""},
		{link("n1", "n0", history.Both), ""},
		{history.Window{}, ""},
	} {
		if got, _, _ := strings.Cut(account.Plain.Say(among(claim, &c.over)), " was struck"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.over.Target(), got, c.want)
		}
	}
}
