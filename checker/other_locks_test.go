package checker

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace/nodetest"
	"github.com/lockstorm/lockstorm/locks"
)

// These locks are no built-in recipes, and they are correct. The oracles must not accuse them.
func TestCorrectLocksOfOtherKindsAreNotAccused(t *testing.T) {
	permits := func(s *story, n int) { s.e.Claims.Permits = n }
	tales(t, []tale{
		{"a transaction that compares and deletes", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(20, 0, history.FRelease)
			s.cmd(21, 0, "OK", "WATCH", "lock")
			s.cmd(22, 0, quoted("t0"), "GET", "lock")
			s.cmd(23, 0, "OK", "MULTI")
			s.cmd(24, 0, "QUEUED", "DEL", "lock")
			s.cmd(25, 0, "[1]", "EXEC")
			s.done(26, 0, history.OK)
			s.hold(30, 40, 1, "t1")
		}, nil},
		{"a life that ends at an instant", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX", "PXAT", millisOf(1010))
			s.cmd(500, 0, "1", "PEXPIREAT", "lock", millisOf(1500))
			s.give(1200, 0, "1", s.cad("t0")...)
			s.take(1300, 1, "OK", "SET", "lock", "t1", "NX", "PXAT", millisOf(2300))
			s.give(1400, 1, "1", s.cad("t1")...)
		}, nil},
		{"a value that tells when its owner was seen last", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "c0 at 10", "NX", "PX", "1000")
			s.cmd(500, 0, "OK", "SET", "lock", "c0 at 500", "XX", "PX", "1000")
			s.busy(600, 1, "nil", "SET", "lock", "c1 at 600", "NX", "PX", "1000")
			s.give(700, 0, "1", s.cad("c0 at 500")...)
		}, nil},
		{"a semaphore that counts who is in", "set-nx-px", func(s *story) {
			permits(s, 2)
			s.take(10, 0, "1", "INCR", "lock")
			s.take(20, 1, "2", "INCR", "lock")
			s.invoke(29, 2, history.FAcquire)
			s.cmd(30, 2, "3", "INCR", "lock")
			s.cmd(31, 2, "2", "DECR", "lock")
			s.done(32, 2, history.Fail)
			s.give(40, 0, "1", "DECR", "lock")
			s.take(50, 2, "2", "INCR", "lock")
			s.give(60, 1, "1", "DECR", "lock")
			s.give(70, 2, "0", "DECR", "lock")
		}, nil},
		{"a semaphore of times, which prunes the dead", "set-nx-px", func(s *story) {
			permits(s, 2)
			enter := func(at float64, client int, pruned, rank string, how history.Type) {
				member := fmt.Sprintf("owner-%d-at-%v", client, at)
				s.invoke(at-1, client, history.FAcquire)
				s.cmd(at, client, pruned, "ZREMRANGEBYSCORE", "lock", "-inf", millisOf(at-1000))
				s.cmd(at+1, client, "1", "ZADD", "lock", millisOf(at), member)
				s.cmd(at+2, client, rank, "ZRANK", "lock", member)
				if how == history.Fail {
					s.cmd(at+3, client, "1", "ZREM", "lock", member)
				}
				s.done(at+4, client, how)
			}
			enter(10, 0, "0", "0", history.OK)
			enter(20, 1, "0", "1", history.OK)
			enter(30, 2, "0", "2", history.Fail)
			s.nemesis(40, crash(0))
			s.give(50, 1, "1", "ZREM", "lock", "owner-1-at-20")
			enter(1100, 2, "1", "0", history.OK)
			s.give(1200, 2, "1", "ZREM", "lock", "owner-2-at-1100")
		}, nil},
		{"a queue whose head is let in", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "RPUSH", "lock", "owner-0")
			s.cmd(11, 0, quoted("owner-0"), "LINDEX", "lock", "0")
			s.done(12, 0, history.OK)
			s.invoke(19, 1, history.FAcquire)
			s.cmd(20, 1, "2", "RPUSH", "lock", "owner-1")
			s.cmd(21, 1, quoted("owner-0"), "LINDEX", "lock", "0")
			s.give(50, 0, quoted("owner-0"), "LPOP", "lock")
			s.cmd(60, 1, quoted("owner-1"), "LINDEX", "lock", "0")
			s.done(61, 1, history.OK)
			s.give(80, 1, quoted("owner-1"), "LPOP", "lock")
		}, nil},
		{"an entry that its owner counts", "reentrant-hash", func(s *story) {
			for i := range 2 {
				s.take(float64(10+10*i), 0, fmt.Sprint(i+1), "HINCRBY", "lock", "owner-0", "1")
			}
			s.give(40, 0, "1", "HINCRBY", "lock", "owner-0", "-1")
			s.give(50, 0, "1", "DEL", "lock")
		}, nil},
	})
}

// TestGoodLocksAreNeverAccused draws random sequences of acquires and releases by three clients of
// set-nx-px. Ownership must hold in all of them, liveness must find nothing, and the cause of every
// overlap must be lease-outlived.
func TestGoodLocksAreNeverAccused(t *testing.T) {
	recipe, _ := locks.ByID("set-nx-px")
	sources, err := nodetest.ScriptSources()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := nodetest.NewWorld(t)
		defer w.Close()
		e := history.Evidence{Claims: recipe.Claims(300*time.Millisecond, 1), Watched: true}
		for sha := range e.Claims.ScriptNames {
			w.Node("n0").Load(sources[sha])
		}
		held, now := map[int]string{}, 1.0
		for n := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			now += rapid.SampledFrom([]float64{2, 10, 50, 120, 400}).Draw(rt, "later")
			useLock(&e, w.Node("n0"), n, now, rapid.IntRange(0, 2).Draw(rt, "client"), held)
		}
		e.Keys = w.Changes
		if v := ownership(t.Context(), NewCase(e)); v.Result != Held {
			rt.Fatalf("ownership: %+v", v)
		}
		if v := liveness(t.Context(), NewCase(e)); v.Result != Unknown || len(v.Findings) > 0 {
			rt.Fatalf("liveness of a run that never healed: %+v", v)
		}
		v, err := exclusion(t.Context(), NewCase(e))
		if err != nil {
			rt.Fatal(err)
		}
		for _, f := range v.Findings {
			if f.Cause != LeaseOutlived {
				rt.Fatalf("what an overrun did is called %s: %s", f.Cause, f.Summary)
			}
		}
	})
}

// useLock makes a client release the lock if held has the client's token, else try to acquire it.
func useLock(e *history.Evidence, n *nodetest.Node, step int, now float64, client int, held map[int]string) {
	invoke := history.Op{
		Index: len(e.Ops), Process: history.Process(client), Client: client, Type: history.Invoke, Lock: "lock", F: history.FRelease, Time: ms(now - 0.5),
	}
	args := []string{"EVALSHA", "", "1", "lock", held[client]}
	for sha := range e.Claims.ScriptNames {
		args[1] = sha
	}
	token := ""
	if held[client] == "" {
		token = fmt.Sprintf("token-%d-%d", client, step)
		invoke.F, args = history.FAcquire, []string{"SET", "lock", token, "NX", "PX", "300"}
	}
	c := history.Command{
		Index: len(e.Commands), Client: client, Node: "n0", Op: len(e.Ops), Exec: len(e.Commands) + 1, Sent: ms(now - 0.1),
		Arrived: ms(now), Served: ms(now + 0.2), Replied: ms(now + 0.3),
	}
	for _, a := range args {
		c.Args = append(c.Args, history.Bytes(a))
	}
	c.Reply = n.Run(c.Arrived, c.Exec, args...)
	done := invoke
	done.Index, done.Time, done.Type, done.Lease = len(e.Ops)+1, ms(now+0.4), history.OK, &history.Lease{Token: token}
	if held[client] = token; c.Reply == "nil" {
		done.Type, held[client] = history.Fail, ""
	}
	e.Ops = append(e.Ops, invoke, done)
	e.Commands = append(e.Commands, c)
}
