package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Each of these cases was once judged wrongly.
func TestVerdictsThatWereMistaken(t *testing.T) {
	tales(t, []tale{
		{"prolonged is not cut short", "setnx-expire-pipeline", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "1")
			s.cmd(10.5, 0, "1", "EXPIRE", "lock", "1")
			s.done(12, 0, history.OK)
			s.invoke(499, 1, history.FAcquire)
			s.cmd(500, 1, "0", "SETNX", "lock", "1")
			s.cmd(500.5, 1, "1", "EXPIRE", "lock", "1")
			s.done(502, 1, history.Fail)
			s.invoke(1699, 1, history.FAcquire)
			s.cmd(1700, 1, "1", "SETNX", "lock", "1")
			s.cmd(1700.5, 1, "1", "EXPIRE", "lock", "1")
			s.done(1702, 1, history.OK)
			s.give(1800, 1, "1", "DEL", "lock")
			s.give(2000, 0, "0", "DEL", "lock")
		}, []string{"exclusion: lease-outlived", "ownership: foreign-renewal"}},
		{"a grant that arrives when its acquire is long over", "redlock", func(s *story) {
			s.vote(10, 1, "t1", []int{2, 3, 4}, nil)
			s.invoke(99, 0, history.FAcquire)
			s.onNodes(100, 0, []int{0, 1}, "OK", setPX("t0")...)
			s.node = "n2"
			s.late(103, 1200, 0, "OK", setPX("t0")...)
			s.done(110, 0, history.OK, history.Lease{Token: "t0"})
			s.invoke(299, 0, history.FRelease)
			s.onNodes(300, 0, []int{0, 1}, "1", s.cad("t0")...)
			s.done(310, 0, history.OK)
			s.invoke(1499, 1, history.FRelease)
			s.onNodes(1500, 1, []int{2, 3, 4}, "0", s.cad("t1")...)
			s.done(1510, 1, history.Fail)
		}, []string{"exclusion: race"}},
		{"the renewals of a hung one are bounded and over", "set-nx-ex-bounded-renewal", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "token-a", "EX", "1", "NX")
			s.nemesis(11, hang(0))
			s.healed(12)
			for _, at := range []float64{20, 1000, 1980, 2960} {
				s.cmd(at, 0, "1", s.script("compare-and-expire", []string{"lock"}, "token-a", "1")...)
				s.busy(at+300, 1, "", "SET", "lock", "token-b", "EX", "1", "NX")
			}
			s.busy(3900, 1, "", "SET", "lock", "token-b", "EX", "1", "NX")
			s.keys(3950)
		}, []string{"liveness: unknown"}},
		{"renewals sent before the hang arrive after it", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(500, hang(0))
			s.late(343, 600, 0, "1", "EXPIRE", "lock", "1")
			s.late(444, 700, 0, "1", "EXPIRE", "lock", "1")
			s.healed(710)
			s.busy(720, 1, "", setPX("t1")...)
			s.busy(1500, 1, "", setPX("t1")...)
			s.keys(1600)
		}, []string{"liveness: unknown"}},
		{"a hung one was told that its lease is lost and its watchdog goes on", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(20, hang(0))
			s.healed(30)
			s.lostIt(100, 0)
			for at := 343.0; at < 5000; at += 333 {
				s.cmd(at, 0, "1", "EXPIRE", "lock", "1")
				s.busy(at+10, 1, "", setPX("t1")...)
			}
			s.keys(5000)
		}, []string{"liveness: foreign-renewal", "liveness: foreign-renewal for ever"}},
		{"a stall let the release time out, which the lock calls ok", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.invoke(20, 0, history.FRelease)
			s.nemesis(400, history.Op{Client: history.NoClient, F: history.FStall, Offset: 300 * time.Millisecond})
			s.lost(21, 0, "DEL", "lock")
			s.done(520, 0, history.OK)
			s.healed(600)
			s.queue(700, 3000, 1, "0", "SETNX", "lock", "1")
			s.keys(3100)
		}, []string{"liveness: unknown"}},
		{"the clock was right long before the takeover", "getset", func(s *story) {
			s.nemesis(1, skew(1, 1, -60000))
			s.invoke(5, 1, history.FAcquire)
			s.nemesis(6, skew(6, 1, 0))
			s.invoke(299, 0, history.FAcquire)
			s.cmd(300, 0, "1", "SETNX", "lock", stampOf(300))
			s.cmd(301, 0, "1", "EXPIRE", "lock", "1")
			s.done(302, 0, history.OK)
			s.cmd(400, 1, "0", "SETNX", "lock", stampOf(399))
			s.cmd(401, 1, quoted(stampOf(300)), "GET", "lock")
			s.cmd(402, 1, quoted(stampOf(300)), "GETSET", "lock", stampOf(402))
			s.cmd(403, 1, "1", "EXPIRE", "lock", "1")
			s.done(404, 1, history.OK)
			s.give(500, 1, "1", "DEL", "lock")
			s.give(600, 0, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: race"}},
		{"a clock's jump ended the key that its watchdog would not have renewed", "set-nx-px-watchdog", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "OK", setPX("t0")...)
			s.nemesis(10.5, clockOfNode(2500))
			s.done(12, 0, history.OK)
			s.take(1200, 1, "OK", setPX("t1")...)
			s.give(1300, 1, "1", s.cad("t1")...)
			s.give(1400, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: renewal-failed"}},
		{"a late write of one who was told is no second draw", "set-nx-px", func(s *story) {
			s.e.Claims.Draws = true
			s.take(10, 0, "OK", setPX("t0")...)
			s.touchIt(12, 12, 0, history.FRead, 1, []int64{0, 0})
			s.lostIt(1020, 0)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.touchIt(1110, 1110, 1, history.FRead, 2, []int64{0, 0})
			s.touchIt(1120, 1120, 0, history.FWrite, 3, []int64{7, 1})
			s.touchIt(1130, 1130, 1, history.FWrite, 4, []int64{7, 1})
			s.give(1200, 1, "1", s.cad("t1")...)
		}, []string{"resource: lease-outlived"}},
		{"a note that another holder's late write wiped out was made", "set-nx-px", func(s *story) {
			s.e.Claims.Draws = true
			s.take(10, 0, "OK", setPX("t0")...)
			s.touchIt(12, 12, 0, history.FRead, 1, []int64{0, 0})
			s.take(1100, 1, "OK", setPX("t1")...)
			s.touchIt(1110, 1110, 1, history.FRead, 2, []int64{0, 0})
			s.touchIt(1120, 1120, 1, history.FWrite, 3, []int64{7, 1})
			s.touchIt(1130, 1130, 1, history.FWrite, 4, []int64{7, 2})
			s.give(1200, 1, "1", s.cad("t1")...)
			s.touchIt(1220, 1220, 0, history.FWrite, 5, []int64{7, 1})
			s.lostIt(1221, 0)
			s.give(1230, 0, "0", s.cad("t0")...)
			s.take(1300, 2, "OK", setPX("t2")...)
			s.touchIt(1310, 1310, 2, history.FRead, 6, []int64{7, 1})
			s.touchIt(1320, 1320, 2, history.FWrite, 7, []int64{7, 2})
			s.give(1400, 2, "1", s.cad("t2")...)
		}, []string{"exclusion: lease-outlived", "resource: lease-outlived"}},
	})
}

// A client's release left an orphaned key, since its command never reached the node. Later the client
// hangs while it holds another lock. This hang is not the cause of the orphan.
func TestAHangUnderAnotherLockExplainsNothing(t *testing.T) {
	s := tell(t, "set-nx-ex-retry")
	s.take(10, 0, "OK", "SET", "lock", "token-a", "EX", "1", "NX")
	s.invoke(20, 0, history.FRelease)
	s.lost(21, 0, s.cad("token-a")...)
	s.done(100, 0, history.OK)
	s.invoke(110, 0, history.FAcquire)
	s.e.Ops[len(s.e.Ops)-1].Lock = "other"
	s.open[0] = s.e.Ops[len(s.e.Ops)-1]
	s.cmd(111, 0, "OK", "SET", "other", "token-o", "EX", "1", "NX")
	s.done(112, 0, history.OK)
	s.nemesis(120, hang(0))
	s.busy(600, 1, "", "SET", "lock", "token-b", "EX", "1", "NX")
	s.take(1100, 1, "OK", "SET", "lock", "token-d", "EX", "1", "NX")
	s.give(1200, 1, "1", s.cad("token-d")...)
	for _, f := range OracleNamed("liveness").Judge(t.Context(), s.evidence()).Findings {
		if !strings.Contains(plain.Broken(f), "every message arrives") || strings.Contains(plain.Summary(f), "hangs") {
			t.Errorf("broken: %s: %s", plain.Broken(f), plain.Summary(f))
		}
	}
}

func (s *story) touchIt(from, to float64, client int, f string, seq int64, v []int64) {
	op := history.Op{Process: history.Process(client), Client: client, F: f, Lock: "lock", Type: history.Invoke}
	s.entry(from, op)
	op.Type, op.Value, op.Seq = history.OK, v, seq
	s.entry(to, op)
}

func (s *story) lostIt(at float64, client int) {
	s.entry(at, history.Op{Process: history.Process(client), Client: client, F: history.FLost, Lock: "lock", Type: history.Info})
}
