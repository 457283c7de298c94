package checker

import "testing"

// A client robs another one in each case: it deletes a guard key, which each acquire sets and
// deletes; it gives a TTL to a key whose owner keeps the lease's end in the value; or it removes
// the head of a queue, which may stand at either end of a list.
func TestWhatLooksLikeAWaiterOrAFirstLifeMayBeARobbery(t *testing.T) {
	tales(t, []tale{
		{"guard deleted by another", "set-nx-px", func(s *story) {
			s.invoke(9, 0, "acquire")
			s.cmd(10, 0, "OK", "SET", "guard", "t0", "NX", "PX", "50")
			s.cmd(11, 0, "OK", setPX("t0")...)
			s.cmd(12, 0, "1", "DEL", "guard")
			s.done(13, 0, "ok")
			s.give(20, 0, "1", s.cad("t0")...)
			s.invoke(29, 1, "acquire")
			s.cmd(30, 1, "OK", "SET", "guard", "t1", "NX", "PX", "500")
			s.cmd(31, 2, "1", "DEL", "guard")
			s.cmd(32, 1, "OK", setPX("t1")...)
			s.cmd(33, 1, "0", "DEL", "guard")
			s.done(34, 1, "ok")
			s.give(40, 1, "1", s.cad("t1")...)
		}, []string{"ownership: foreign-delete"}},
		{"guard deleted by another, two get in", "set-nx-px", func(s *story) {
			s.invoke(9, 0, "acquire")
			s.cmd(10, 0, "OK", "SET", "guard", "t0", "NX", "PX", "50")
			s.cmd(11, 0, "nil", "GET", "lock")
			s.cmd(12, 0, "OK", "SET", "lock", "t0", "PX", "1000")
			s.cmd(13, 0, "1", "DEL", "guard")
			s.done(14, 0, "ok")
			s.give(20, 0, "1", s.cad("t0")...)
			s.invoke(29, 1, "acquire")
			s.cmd(30, 1, "OK", "SET", "guard", "t1", "NX", "PX", "500")
			s.cmd(31, 1, "nil", "GET", "lock")
			s.cmd(32, 2, "1", "DEL", "guard")
			s.invoke(33, 3, "acquire")
			s.cmd(34, 3, "OK", "SET", "guard", "t3", "NX", "PX", "500")
			s.cmd(35, 3, "nil", "GET", "lock")
			s.cmd(36, 3, "OK", "SET", "lock", "t3", "PX", "1000")
			s.cmd(37, 3, "1", "DEL", "guard")
			s.done(38, 3, "ok")
			s.cmd(39, 1, "OK", "SET", "lock", "t1", "PX", "1000")
			s.cmd(40, 1, "0", "DEL", "guard")
			s.done(41, 1, "ok")
			s.give(50, 1, "1", s.cad("t1")...)
			s.give(60, 3, "0", s.cad("t3")...)
		}, []string{"exclusion: race", "ownership: foreign-delete", "ownership: race"}},
		{"first TTL, the owner extends in the value", "set-nx-px", func(s *story) {
			s.take(10, 0, "2", "HSET", "lock", "owner", "a", "until", millisOf(1010))
			s.invoke(499, 1, "acquire")
			s.cmd(500, 1, quoted(millisOf(1010)), "HGET", "lock", "until")
			s.cmd(501, 1, "1", "PEXPIRE", "lock", "1000")
			s.done(502, 1, "fail")
			s.invoke(899, 0, "extend")
			s.cmd(900, 0, "0", "HSET", "lock", "until", millisOf(1900))
			s.done(901, 0, "ok")
			s.take(1600, 1, "2", "HSET", "lock", "owner", "b", "until", millisOf(2600))
			s.give(1650, 1, "1", "DEL", "lock")
			s.give(1700, 0, "0", "DEL", "lock")
		}, []string{"exclusion: foreign-renewal", "ownership: foreign-renewal"}},
		{"head at the right", "set-nx-px", func(s *story) {
			s.invoke(9, 0, "acquire")
			s.cmd(10, 0, "1", "LPUSH", "lock", "owner-0")
			s.invoke(11, 1, "acquire")
			s.cmd(12, 1, "2", "LPUSH", "lock", "owner-1")
			s.cmd(13, 1, quoted("owner-0"), "LINDEX", "lock", "-1")
			s.cmd(14, 0, quoted("owner-0"), "LINDEX", "lock", "-1")
			s.cmd(15, 2, "1", "LREM", "lock", "0", "owner-0")
			s.cmd(16, 0, "1", "PEXPIRE", "lock", "1000")
			s.done(17, 0, "ok")
			s.cmd(18, 1, quoted("owner-1"), "LINDEX", "lock", "-1")
			s.done(19, 1, "ok")
			s.give(30, 1, "1", "LREM", "lock", "0", "owner-1")
			s.give(40, 0, "0", "LREM", "lock", "0", "owner-0")
		}, []string{"exclusion: race", "ownership: foreign-delete"}},
	})
}
