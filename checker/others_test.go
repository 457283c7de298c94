package checker

import (
	"context"
	"testing"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

// These are locks as users write them. One of them renews its lease by setting the key again, even
// if another client has the key by now.
func TestLocksOfOthers(t *testing.T) {
	tales(t, []tale{
		{"a renewal that sets the key anew, whoever's it is", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.cmd(1200, 0, "OK", "SET", "lock", "t0", "XX", "PX", "1000")
			s.give(1300, 0, "1", s.cad("t0")...)
			s.take(1400, 2, "OK", setPX("t2")...)
			s.give(1500, 1, "0", s.cad("t1")...)
			s.give(1600, 2, "1", s.cad("t2")...)
		}, []string{"exclusion: foreign-delete", "exclusion: lease-outlived", "ownership: foreign-delete"}},
		{"a life that was over by the node's clock when it was given", "set-nx-px", func(s *story) {
			s.nodeClock(5, "n0", 60_000)
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX", "PXAT", "1000")
			s.take(100, 1, "OK", setPX("t1")...)
			s.give(200, 0, "0", s.cad("t0")...)
			s.give(300, 1, "1", s.cad("t1")...)
		}, []string{"exclusion: server-clock"}},
		{"a token that is taken out of a list", "set-nx-px", func(s *story) {
			s.cmd(5, 1, "1", "RPUSH", "tokens", "token")
			s.take(10, 0, `"token"`, "LPOP", "tokens")
			s.give(100, 0, "1", "RPUSH", "tokens", "token")
		}, []string{"ownership: unknown"}},
		{"an attempt to read that was open, by a client that then wrote", "rw-hash-owners", func(s *story) {
			s.invoke(10, 0, history.FAcquire, history.Read)
			s.lost(11, 0, setPX("t")...)
			s.healed(40)
			s.done(50, 0, history.Info)
			s.invoke(59, 0, history.FAcquire, history.Write)
			s.cmd(60, 0, "OK", setPX("t0")...)
			s.done(61, 0, history.OK)
			s.invoke(99, 0, history.FRelease, history.Write)
			s.cmd(100, 0, "1", "DEL", "lock")
			s.done(101, 0, history.OK)
			s.keys(200)
		}, nil},
	})
}

// fenceCountedLate adds a client that sets the lock's key, but increments the counter of fences
// only after another client got the lock and a fence.
func fenceCountedLate(s *story) {
	s.e.Claims.Fenced = true
	s.invoke(9, 0, history.FAcquire)
	s.cmd(10, 0, "OK", setPX("t0")...)
	s.invoke(1099, 1, history.FAcquire)
	s.cmd(1100, 1, "OK", setPX("t1")...)
	s.cmd(1101, 1, "1", "INCR", "fence")
	s.done(1102, 1, history.OK, history.Lease{Token: "t1", Fence: 1})
	s.give(1150, 1, "1", "DEL", "lock")
	s.cmd(1200, 0, "2", "INCR", "fence")
	s.done(1201, 0, history.OK, history.Lease{Token: "t0", Fence: 2})
}

// A client counts its fence only after another client got the lock and a fence, so that the earlier
// grant has the greater fence. The times of key changes are exact here, since blurred times would
// not show which grant came first.
func TestAFenceIsCountedWhenTheLockIsTaken(t *testing.T) {
	s := tell(t, "set-nx-px")
	fenceCountedLate(s)
	v, err := fencing(context.Background(), NewCase(s.evidence()))
	if err != nil || v.Result != Violated {
		t.Errorf("%s, %v; want violated", v.Result, err)
	}
}

func TestAResourceThatSeveralMayUseIsNotJudged(t *testing.T) {
	ops := histories.Timeline(t, `
		c0 acquire 1-2 ok
		c1 acquire 3-4 ok
		c0 read 5-5 ok seq=1 value=0
		c1 write 6-6 ok seq=2 value=1
		c0 write 7-7 ok seq=3 value=1`)
	for permits, want := range map[int]Result{1: Violated, 2: NotApplicable} {
		v := resource(context.Background(), NewCase(history.Evidence{Ops: ops, Claims: history.Claims{Permits: permits}}))
		if v.Result != want {
			t.Errorf("%d permits: %s, want %s", permits, v.Result, want)
		}
	}
}
