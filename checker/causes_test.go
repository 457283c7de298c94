package checker

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// stampOf returns the value that recipe getset writes at that time if the client's wall clock is
// right: the instant two seconds later, in Unix milliseconds, as 8 big-endian bytes.
func stampOf(at float64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(at)+2000+1_700_000_000_000))
}

func millisOf(at float64) string { return fmt.Sprint(int64(at) + 1_700_000_000_000) }

func quoted(s string) string { return `"` + s + `"` }

func skew(at float64, client int, by float64) history.Op {
	return history.Op{Client: client, F: history.FClock, Offset: ms(by)}
}

// setPX returns the command with which recipe set-nx-px takes the lock.
func setPX(token string) []string { return []string{"SET", "lock", token, "NX", "PX", "1000"} }

// twoHoldersByExpiry: c0 overruns its lease, and c1 gets the lock meanwhile.
func twoHoldersByExpiry(s *story) {
	s.take(10, 0, "OK", setPX("t0")...)
	s.hold(1100, 1200, 1, "t1")
	s.give(1300, 0, "0", s.cad("t0")...)
}

func TestCausesOfOneNodeLocks(t *testing.T) {
	tales(t, []tale{
		{"a lease that is overrun is outlived", "set-nx-px", twoHoldersByExpiry, []string{"exclusion: lease-outlived"}},
		{"a grant that is learnt of after its key expired is outlived", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "OK", setPX("t0")...).Replied = ms(1500)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.done(1501, 0, history.OK)
			s.give(1600, 0, "0", s.cad("t0")...)
			s.give(1700, 1, "1", s.cad("t1")...)
		}, []string{"exclusion: lease-outlived"}},
		{"exists and set both pass", "exists-set", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.invoke(9, 1, history.FAcquire)
			s.cmd(10, 0, "0", "EXISTS", "lock")
			s.cmd(10.5, 1, "0", "EXISTS", "lock")
			s.cmd(11, 0, "OK", "SET", "lock", "1")
			s.cmd(11.5, 1, "OK", "SET", "lock", "1")
			s.done(12, 0, history.OK)
			s.done(12, 1, history.OK)
			s.give(50, 0, "1", "DEL", "lock")
			s.give(60, 1, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: foreign-delete"}},
		{"a bare DEL after an overrun lets a third in", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.take(1100, 1, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.give(1200, 0, "1", "DEL", "lock")
			s.holdEX(1210, 1250, 2)
			s.give(1300, 1, "0", "DEL", "lock")
		}, []string{"exclusion: foreign-delete", "exclusion: lease-outlived", "ownership: foreign-delete"}},
		{"a bare DEL that arrives late is a foreign delete without any overrun", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.invoke(99, 0, history.FRelease)
			s.done(600, 0, history.Info)
			s.take(1100, 1, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.late(100, 1150, 0, "1", "DEL", "lock").Replied = 0
			s.holdEX(1210, 1250, 2)
			s.give(1300, 1, "0", "DEL", "lock")
		}, []string{"exclusion: foreign-delete", "ownership: foreign-delete"}},
		{"a pause between GET and DEL removes another's lock", "set-nx-ex-get-del", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "token-0", "EX", "1", "NX")
			s.invoke(900, 0, history.FRelease)
			s.cmd(901, 0, `"token-0"`, "GET", "lock")
			s.take(1100, 1, "OK", "SET", "lock", "token-1", "EX", "1", "NX")
			s.cmd(1200, 0, "1", "DEL", "lock")
			s.done(1201, 0, history.OK)
			s.take(1300, 2, "OK", "SET", "lock", "token-2", "EX", "1", "NX")
			s.give(1350, 2, "1", "DEL", "lock")
			s.give(1400, 1, "0", "DEL", "lock")
		}, []string{"exclusion: foreign-delete", "ownership: foreign-delete"}},
		{"a release that arrives late deletes the same handle's next lease", "lua-setnx-expire-owner", func(s *story) {
			enter := func(v string) []string { return s.script("setnx-then-expire", []string{"lock"}, v, "1") }
			s.take(10, 0, "1", enter("handle-0")...)
			s.invoke(100, 0, history.FRelease)
			s.done(400, 0, history.Info)
			s.take(1050, 0, "1", enter("handle-0")...)
			s.late(101, 1100, 0, "1", s.cad("handle-0")...).Replied = 0
			s.take(1150, 1, "1", enter("handle-1")...)
			s.give(1200, 1, "1", s.cad("handle-1")...)
			s.give(1300, 0, "0", s.cad("handle-0")...)
		}, []string{"exclusion: late-command"}},
		{"a clean-up outside every operation, sent before the key was set", "set-nx-px", func(s *story) {
			s.invoke(10, 0, history.FAcquire)
			s.late(12, 40, 0, "1", s.cad("t0")...).Op = -1
			s.cmd(20, 0, "OK", setPX("t0")...)
			s.done(21, 0, history.OK)
			s.take(50, 1, "OK", setPX("t1")...)
			s.give(60, 1, "1", s.cad("t1")...)
			s.keys(100)
		}, []string{"exclusion: late-command"}},
		{"a restart loses the key", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.down(100)
			s.up(150, allKeys)
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-lost-key"}},
		{"a restart after which the key expired anyway is not to blame", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.down(100)
			s.up(150, noKeys)
			s.hold(1200, 1250, 1, "t1")
			s.give(1300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a restarted node grants by a script", "lua-setnx-expire-owner", func(s *story) {
			enter := func(v string) []string { return s.script("setnx-then-expire", []string{"lock"}, v, "1") }
			s.take(10, 0, "1", enter("handle-zero")...)
			s.down(100)
			s.up(150, allKeys)
			s.take(200, 1, "1", enter("handle-one")...)
			s.give(250, 1, "1", s.cad("handle-one")...)
			s.give(300, 0, "0", s.cad("handle-zero")...)
		}, []string{"exclusion: server-lost-key"}},
		{"a script that grants in the millisecond of the expiry", "lua-setnx-expire-owner", func(s *story) {
			enter := func(v string) []string { return s.script("setnx-then-expire", []string{"lock"}, v, "1") }
			s.take(10, 0, "1", enter("handle-zero")...)
			s.take(1011, 1, "1", enter("handle-one")...)
			s.give(1050, 1, "1", s.cad("handle-one")...)
			s.give(1100, 0, "0", s.cad("handle-zero")...)
		}, []string{"exclusion: lease-outlived"}},
		{"somebody else cut the key's life short", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.cmd(50, 2, "1", "PEXPIRE", "lock", "100")
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: foreign-renewal", "ownership: foreign-renewal"}},
		{"a key that was to live until an instant", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX")
			s.cmd(12, 0, "1", "PEXPIREAT", "lock", millisOf(300))
			s.hold(500, 550, 1, "t1")
			s.give(600, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a set that keeps the key's life", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.cmd(500, 0, "OK", "SET", "lock", "t0", "XX", "KEEPTTL")
			s.hold(1100, 1150, 1, "t1")
			s.give(1200, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a grant in flight when the node is killed changes nothing", "setnx-expire", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.cmd(12, 0, "1", "EXPIRE", "lock", "1")
			s.down(99)
			s.invoke(99, 2, history.FAcquire)
			c := s.cmd(100, 2, "", "SETNX", "lock", "1")
			c.Served, c.Replied = 0, 0
			s.done(130, 2, history.Info)
			s.up(150, allKeys)
			s.take(200, 1, "1", "SETNX", "lock", "1")
			s.give(250, 1, "1", "DEL", "lock")
			s.give(300, 0, "0", "DEL", "lock")
		}, []string{"exclusion: server-lost-key"}},
		{"a promoted replica never had the key", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.down(100)
			s.nemesis(101, history.Op{Client: history.NoClient, F: history.FPromote, Node: "n1"})
			s.node = "n1"
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-lost-key"}},
		{"a promoted replica grants by a script", "redisson", func(s *story) {
			s.take(10, 0, "nil", s.script("redisson-enter", []string{"lock"}, "owner-0-long", "1000")...)
			s.down(100)
			s.nemesis(101, history.Op{Client: history.NoClient, F: history.FPromote, Node: "n1"})
			s.node = "n1"
			s.take(200, 1, "nil", s.script("redisson-enter", []string{"lock"}, "owner-1-long", "1000")...)
			s.give(250, 1, "1", s.script("redisson-leave", []string{"lock", "channel"}, "owner-1-long", "1000")...)
			s.give(300, 0, "nil", s.script("redisson-leave", []string{"lock", "channel"}, "owner-0-long", "1000")...)
		}, []string{"exclusion: server-lost-key"}},
		{"a key that vanishes for a reason that nobody saw", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.unexplained(100, "DEL", "lock")
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: unclassified", "ownership: unknown"}},
		{"a key that somebody takes away who is no client", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.stranger(100, "DEL", "lock")
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: unclassified"}},
		{"a node's clock that jumps lets the key expire early", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(100, history.Op{Client: history.NoClient, F: history.FNodeClock, Node: "n0", Offset: ms(5000)})
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-clock"}},
	})
}

func TestALostKeyIsToldWithWhatLostIt(t *testing.T) {
	for f, want := range map[string]string{
		history.FNodeDown: "n0, restarted at 0.100s, had lost lock, which c0 had set at 0.010s",
		history.FNodeUp:   "n0 had lost lock, which c0 had set at 0.010s, though nothing deleted it and it was not due to expire",
	} {
		s := tell(t, "set-nx-px")
		s.take(10, 0, "OK", setPX("t0")...)
		s.nemesis(100, history.Op{Client: history.NoClient, F: f, Node: "n0"})
		s.hold(200, 250, 1, "t1")
		s.give(300, 0, "0", s.cad("t0")...)
		v, err := exclusion(t.Context(), NewCase(s.evidence()))
		if err != nil || len(v.Findings) != 1 || !strings.HasSuffix(plain.Summary(v.Findings[0]), want) {
			t.Errorf("got %+v, %v\nwant one finding that ends with %s", v.Findings, err, want)
		}
	}
}

func TestCausesOfLocksThatClientsClocksDecide(t *testing.T) {
	// robGetset: at the given time, c1 finds that c0's stamp is in the past, and takes the lock
	// over. The events happen between c1's invocation and its first command.
	robGetset := func(s *story, at float64, c0s, c1s string, events ...history.Op) {
		s.invoke(at-1, 1, history.FAcquire)
		for _, e := range events {
			s.nemesis(at-0.5, e)
		}
		s.cmd(at, 1, "0", "SETNX", "lock", c1s)
		s.cmd(at+1, 1, quoted(c0s), "GET", "lock")
		s.cmd(at+2, 1, quoted(c0s), "GETSET", "lock", c1s)
		s.cmd(at+3, 1, "1", "EXPIRE", "lock", "1")
		s.done(at+4, 1, history.OK)
		s.give(at+50, 1, "1", "DEL", "lock")
		s.give(at+60, 0, "0", "DEL", "lock")
	}
	takeGetset := func(s *story, at float64, stamp string) {
		s.invoke(at-1, 0, history.FAcquire)
		s.cmd(at, 0, "1", "SETNX", "lock", stamp)
		s.cmd(at+1, 0, "1", "EXPIRE", "lock", "1")
		s.done(at+2, 0, history.OK)
	}
	tales(t, []tale{
		{"a rival whose clock is ahead takes over", "getset", func(s *story) {
			s.nemesis(1, skew(1, 1, 60000))
			takeGetset(s, 10, stampOf(10))
			robGetset(s, 100, stampOf(10), stampOf(60100))
		}, []string{"exclusion: client-clock", "ownership: client-clock"}},
		{"a rival's clock that is set right behind its reading takes over", "getset", func(s *story) {
			s.nemesis(1, skew(1, 1, 60000))
			takeGetset(s, 10, stampOf(10))
			robGetset(s, 100, stampOf(10), stampOf(60099), skew(99.5, 1, 0))
		}, []string{"exclusion: client-clock", "ownership: client-clock"}},
		{"a pause before the first command writes a time that is past", "getset", func(s *story) {
			s.invoke(5, 0, history.FAcquire)
			s.cmd(2500, 0, "1", "SETNX", "lock", stampOf(5))
			s.cmd(2501, 0, "1", "EXPIRE", "lock", "1")
			s.done(2502, 0, history.OK)
			robGetset(s, 2550, stampOf(5), stampOf(2550))
		}, []string{"exclusion: client-clock", "ownership: client-clock"}},
		{"a takeover that arrives when its attempt is over", "setnx-takeover-del", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", millisOf(1010))
			s.nemesis(50, history.Op{Client: 0, F: history.FCrash})
			s.invoke(1099, 1, history.FAcquire)
			s.cmd(1100, 1, "0", "SETNX", "lock", millisOf(2100))
			s.cmd(1101, 1, quoted(millisOf(1010)), "GET", "lock")
			s.done(1300, 1, history.Info)
			s.invoke(1399, 2, history.FAcquire)
			s.cmd(1400, 2, "0", "SETNX", "lock", millisOf(2400))
			s.cmd(1401, 2, quoted(millisOf(1010)), "GET", "lock")
			s.cmd(1402, 2, "1", "DEL", "lock")
			s.cmd(1403, 2, "1", "SETNX", "lock", millisOf(2403))
			s.done(1404, 2, history.OK)
			s.late(1102, 1450, 1, "1", "DEL", "lock").Replied = 0
			s.take(1460, 3, "1", "SETNX", "lock", millisOf(2460))
			s.give(1500, 3, "1", "DEL", "lock")
			s.give(1600, 2, "0", "DEL", "lock")
		}, []string{"exclusion: late-command", "ownership: foreign-delete"}},
		{"two takeovers of one stale key race, whatever the clocks", "setnx-takeover-del", func(s *story) {
			s.nemesis(1, skew(1, 2, 100))
			s.take(10, 0, "1", "SETNX", "lock", millisOf(1010))
			s.nemesis(50, history.Op{Client: 0, F: history.FCrash})
			for _, c := range []int{1, 2} {
				s.invoke(1099, c, history.FAcquire)
			}
			for _, c := range []int{1, 2} {
				s.cmd(1100+float64(c)/10, c, "0", "SETNX", "lock", millisOf(2100))
				s.cmd(1101+float64(c)/10, c, quoted(millisOf(1010)), "GET", "lock")
			}
			s.cmd(1102, 1, "1", "DEL", "lock")
			s.cmd(1103, 1, "1", "SETNX", "lock", millisOf(2103))
			s.done(1104, 1, history.OK)
			s.goesOn(1104.5, 2).Op = -1 // in the background
			s.cmd(1105, 2, "1", "DEL", "lock")
			s.cmd(1106, 2, "1", "SETNX", "lock", millisOf(2106))
			s.done(1107, 2, history.OK)
			s.give(1150, 1, "1", "DEL", "lock")
			s.give(1160, 2, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: foreign-delete"}},
		{"a takeover of a lease that was overrun is no matter of clocks", "setnx-takeover-del", func(s *story) {
			s.nemesis(1, skew(1, 1, 300))
			s.take(10, 0, "1", "SETNX", "lock", millisOf(1010))
			s.invoke(1099, 1, history.FAcquire)
			s.cmd(1100, 1, "0", "SETNX", "lock", millisOf(2100))
			s.cmd(1101, 1, quoted(millisOf(1010)), "GET", "lock")
			s.cmd(1102, 1, "1", "DEL", "lock")
			s.cmd(1103, 1, "1", "SETNX", "lock", millisOf(2103))
			s.done(1104, 1, history.OK)
			s.give(1150, 1, "1", "DEL", "lock")
			s.give(1160, 0, "0", "DEL", "lock")
		}, []string{"exclusion: lease-outlived"}},
		{"a restart brings an older time back, which is taken over", "setnx-takeover-del", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", millisOf(1010))
			s.give(20, 0, "1", "DEL", "lock")
			s.take(1100, 2, "1", "SETNX", "lock", millisOf(2100))
			s.down(1110)
			s.up(1120, someWrites)
			s.invoke(1129, 1, history.FAcquire)
			s.cmd(1130, 1, "0", "SETNX", "lock", millisOf(2130))
			s.cmd(1131, 1, quoted(millisOf(1010)), "GET", "lock")
			s.cmd(1132, 1, "1", "DEL", "lock")
			s.cmd(1133, 1, "1", "SETNX", "lock", millisOf(2133))
			s.done(1134, 1, history.OK)
			s.give(1150, 1, "1", "DEL", "lock")
			s.give(1160, 2, "0", "DEL", "lock")
		}, []string{"exclusion: server-lost-key"}},
		{"the deadline of a clock that was set back comes after the keys expired", "redlock", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			for n := range 5 {
				s.node = fmt.Sprintf("n%d", n)
				s.cmd(10+float64(n), 0, "OK", setPX("t0")...)
			}
			s.done(16, 0, history.OK, history.Lease{Token: "t0", Deadline: ms(1009)})
			s.nemesis(20, skew(20, 0, -5000))
			s.invoke(1099, 1, history.FAcquire)
			for n := range 5 {
				s.node = fmt.Sprintf("n%d", n)
				s.cmd(1100+float64(n), 1, "OK", setPX("t1")...)
			}
			s.done(1106, 1, history.OK, history.Lease{Token: "t1", Deadline: ms(2099)})
			s.give(1200, 1, "1", s.cad("t1")...)
			s.give(1300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: client-clock"}},
		{"the clock was ahead when the deadline was set during the acquire, and is right again", "fenced", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.nemesis(10, skew(10, 0, 1750))
			s.cmd(12, 0, "1", s.script("set-and-count", []string{"lock", "lock:fence"}, "t0", "1000")...)
			s.done(16, 0, history.OK, history.Lease{Token: "t0", Fence: 1, Deadline: ms(2760)})
			s.nemesis(600, skew(600, 0, 0))
			s.invoke(1099, 1, history.FAcquire)
			s.cmd(1100, 1, "2", s.script("set-and-count", []string{"lock", "lock:fence"}, "t1", "1000")...)
			s.done(1106, 1, history.OK, history.Lease{Token: "t1", Fence: 2, Deadline: ms(2099)})
			s.give(1200, 1, "1", s.cad("t1")...)
			s.give(1300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: client-clock"}},
	})
}

func TestNoGrantOfAnOpenAcquireIsLate(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.invoke(9, 0, history.FAcquire)
	s.cmd(10, 0, "OK", setPX("t0")...)
	rp := NewCase(s.evidence()).known()
	if len(rp.Grants) != 1 {
		t.Fatalf("got %v, want one grant", rp.Grants)
	}
	if rp.madeLate(rp.Grants[0]) {
		t.Error("the grant is late, though its acquire never completed")
	}
}
