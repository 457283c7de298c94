package checker

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

func TestFieldsWithALifeOfTheirOwn(t *testing.T) {
	token := func(client int, at float64) string { return fmt.Sprintf("token-of-%d-at-%v", client, at) }
	enter := func(s *story, at float64, client int, mode history.Mode, deadline float64) {
		s.invoke(at-1, client, history.FAcquire, mode)
		s.cmd(at, client, "1", s.script("owners-enter", []string{"lock"}, string(mode), token(client, at), "1000")...)
		s.done(at+1, client, history.OK, history.Lease{Token: token(client, at), Deadline: ms(deadline)})
	}
	leave := func(s *story, at float64, client int, mode history.Mode, since float64, reply string) {
		s.invoke(at-1, client, history.FRelease, mode)
		s.cmd(at, client, reply, s.script("owners-leave", []string{"lock"}, string(mode), token(client, since))...)
		how := history.OK
		if reply == "0" {
			how = history.Fail
		}
		s.done(at+1, client, how)
	}
	const believes = 5000 // a deadline after the end of any TTL, so that holds overlap and the overlap has a cause
	tales(t, []tale{
		{"readers leave in any order, then a writer comes", "rw-hash-owners", func(s *story) {
			enter(s, 10, 0, history.Read, 1009)
			enter(s, 20, 1, history.Read, 1019)
			leave(s, 30, 1, history.Read, 20, "1")
			leave(s, 40, 0, history.Read, 10, "1")
			enter(s, 50, 2, history.Write, 1049)
			leave(s, 60, 2, history.Write, 50, "1")
		}, nil},
		{"a reader outlives its own field while the key lives on for another's", "rw-hash-owners", func(s *story) {
			enter(s, 10, 0, history.Read, believes)
			enter(s, 800, 1, history.Read, 1799)
			leave(s, 900, 1, history.Read, 800, "1")
			enter(s, 1100, 2, history.Write, 2099)
			leave(s, 1200, 2, history.Write, 1100, "1")
			leave(s, 1300, 0, history.Read, 10, "0")
		}, []string{"exclusion: lease-outlived"}},
		{"a writer that is let in while a reader's field lives is a race", "rw-hash-owners", func(s *story) {
			enter(s, 10, 0, history.Read, believes)
			s.invoke(499, 2, history.FAcquire, history.Write)
			s.cmd(500, 2, "1", "EVAL", `return redis.call("HSET", KEYS[1], "write", ARGV[1])`, "1", "lock", millisOf(1500)+":"+token(2, 500))
			s.done(501, 2, history.OK, history.Lease{Token: token(2, 500), Deadline: ms(1499)})
			leave(s, 600, 2, history.Write, 500, "1")
			leave(s, 700, 0, history.Read, 10, "1")
		}, []string{"exclusion: race"}},
		{"a writer that is let in beside a reader's field, whose time was over", "set-nx-px", func(s *story) {
			s.e.Claims.ReadWrite = true
			s.tries(10, 0, history.Read, history.OK, []string{"1", "HSET", "lock", "r:t0", millisOf(1010)})
			s.tries(1100, 1, history.Write, history.OK, []string{quoted(millisOf(1010)), "HGET", "lock", "r:t0"}, []string{"1", "HSET", "lock", "w:t1", millisOf(2101)})
			s.give(1200, 1, "1", "HDEL", "lock", "w:t1")
			s.give(1300, 0, "1", "HDEL", "lock", "r:t0")
		}, []string{"exclusion: lease-outlived"}},
		{"the same, whose time was not over", "set-nx-px", func(s *story) {
			s.e.Claims.ReadWrite = true
			s.tries(10, 0, history.Read, history.OK, []string{"1", "HSET", "lock", "r:t0", millisOf(1010)})
			s.tries(900, 1, history.Write, history.OK, []string{quoted(millisOf(1010)), "HGET", "lock", "r:t0"}, []string{"1", "HSET", "lock", "w:t1", millisOf(1901)})
			s.give(1200, 1, "1", "HDEL", "lock", "w:t1")
			s.give(1300, 0, "1", "HDEL", "lock", "r:t0")
		}, []string{"exclusion: race"}},
		{"the node's clock jumps ahead of a field's end", "rw-hash-owners", func(s *story) {
			enter(s, 10, 0, history.Read, 1009)
			s.nemesis(100, history.Op{Client: history.NoClient, F: history.FNodeClock, Node: "n0", Offset: 950 * time.Millisecond})
			enter(s, 110, 1, history.Read, 1109)
			leave(s, 120, 1, history.Read, 110, "1")
			enter(s, 200, 2, history.Write, 1199)
			leave(s, 300, 2, history.Write, 200, "1")
			leave(s, 400, 0, history.Read, 10, "0")
		}, []string{"exclusion: server-clock"}},
		{"a replica that has not heard of a writer's field lets a reader in", "rw-hash-owners", func(s *story) {
			enter(s, 10, 0, history.Write, 1009)
			s.down(20)
			s.promote(20, "n1")
			enter(s, 40, 1, history.Read, 1039)
			leave(s, 50, 1, history.Read, 40, "1")
			enter(s, 60, 1, history.Read, 1059)
			leave(s, 70, 1, history.Read, 60, "1")
			leave(s, 80, 0, history.Write, 10, "0")
		}, []string{"exclusion: server-lost-key"}},
		{"a node that restarts without its data loses every field", "rw-hash-owners", func(s *story) {
			enter(s, 10, 0, history.Read, 1009)
			s.down(20)
			s.up(30, allKeys)
			enter(s, 40, 1, history.Write, 1039)
			leave(s, 50, 1, history.Write, 40, "1")
			leave(s, 60, 0, history.Read, 10, "0")
		}, []string{"exclusion: server-lost-key"}},
	})
}

func TestACountIsNobodysClaim(t *testing.T) {
	tales(t, []tale{
		{"a grant whose count stays when the lock is given back", "fenced", func(s *story) {
			for client, at := range []float64{10, 100} {
				token := fmt.Sprintf("token-of-%d", client)
				s.invoke(at-1, client, history.FAcquire)
				s.cmd(at, client, fmt.Sprint(client+1), s.script("set-and-count", []string{"lock", "lock:fence"}, token, "1000")...)
				s.done(at+1, client, history.OK, history.Lease{Token: token, Fence: int64(client + 1), Deadline: ms(at + 999)})
				s.invoke(at+10, client, history.FRelease)
				s.cmd(at+11, client, "1", s.script("compare-and-delete", []string{"lock"}, token)...)
				s.done(at+12, client, history.OK)
			}
			s.healed(200)
			s.keys(300)
		}, nil},
	})
}
