package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestCausesWhenOlderKeysComeBack(t *testing.T) {
	tales(t, []tale{
		{"an entry that had been left lives on at a promoted replica", "redisson", func(s *story) {
			enter := func(o string) []string { return s.script("redisson-enter", []string{"lock"}, o, "1000") }
			leave := func(o string) []string { return s.script("redisson-leave", []string{"lock", "channel"}, o, "1000") }
			s.take(10, 1, "nil", enter("owner-1-long")...)
			s.give(40, 1, "1", leave("owner-1-long")...)
			s.take(50, 0, "nil", enter("owner-0-long")...)
			s.promote(100, "n1") // n1 lacks c1's release and c0's grant
			s.cmd(120, 1, "1", s.script("redisson-renew", []string{"lock"}, "owner-1-long", "1000")...)
			s.take(200, 1, "nil", enter("owner-1-long")...)
			s.give(250, 1, "0", leave("owner-1-long")...)
			s.give(300, 0, "nil", leave("owner-0-long")...)
		}, []string{"exclusion: server-lost-key"}},
		{"what a restart brings back has no part in what was before", "setnx-takeover-del", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", millisOf(1010))
			s.cmd(40, 2, "1", "DEL", "lock")
			s.take(50, 1, "1", "SETNX", "lock", millisOf(1050))
			s.nemesis(110, history.Op{Client: 0, F: history.FCrash})
			s.nemesis(150, history.Op{Client: 1, F: history.FCrash})
			s.down(200)
			s.up(210, someWrites)
			s.invoke(219, 2, history.FAcquire)
			s.cmd(220, 2, "0", "SETNX", "lock", millisOf(1220))
			s.cmd(221, 2, quoted(millisOf(1010)), "GET", "lock")
			s.done(222, 2, history.Fail)
		}, []string{"exclusion: foreign-delete", "liveness: orphaned-key", "ownership: foreign-delete"}},
	})
}
