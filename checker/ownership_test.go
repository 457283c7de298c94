package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestOwnershipIsViolatedByWhatHitsAnothersGrant(t *testing.T) {
	tales(t, []tale{
		{"a script that puts the same there again, whoever has it", "set-nx-px", func(s *story) {
			enter := []string{"EVAL", `redis.call("SET", KEYS[1], "1") redis.call("PEXPIRE", KEYS[1], ARGV[1]) return 1`, "1", "lock", "1000"}
			s.take(10, 0, "1", enter...)
			s.take(20, 1, "1", enter...)
		}, []string{"exclusion: race", "ownership: foreign-renewal"}},
		{"a plain renewal prolongs another's lock", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.fault(50, history.Invoke, 0)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.fault(1190, history.Info, 0)
			s.cmd(1200, 0, "1", "EXPIRE", "lock", "1")
			s.give(1300, 1, "1", s.cad("t1")...)
			s.give(1400, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived", "ownership: foreign-renewal"}},
		{"an EXPIRE behind a pause times the lock of whoever took over", "getset", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", stampOf(10))
			s.invoke(2499, 1, history.FAcquire)
			s.cmd(2500, 1, "0", "SETNX", "lock", stampOf(2500))
			s.cmd(2501, 1, quoted(stampOf(10)), "GET", "lock")
			s.cmd(2502, 1, quoted(stampOf(10)), "GETSET", "lock", stampOf(2500))
			s.cmd(2503, 1, "1", "EXPIRE", "lock", "1")
			s.done(2504, 1, history.OK)
			s.cmd(2510, 0, "1", "EXPIRE", "lock", "1")
			s.done(2511, 0, history.OK)
			s.give(2600, 0, "1", "DEL", "lock")
			s.give(2700, 1, "0", "DEL", "lock")
		}, []string{"exclusion: lease-outlived", "ownership: foreign-delete", "ownership: foreign-renewal"}},
		{"a script that forgets to compare", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1200, 0, "1", "EVAL", `return redis.call("DEL", KEYS[1])`, "1", "lock", "t0")
			s.give(1300, 1, "0", s.cad("t1")...)
		}, []string{"exclusion: lease-outlived", "ownership: foreign-delete"}},
		{"a DEL after the node lost the sender's key", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.down(20)
			s.up(30, allKeys)
			s.take(40, 1, "1", "SETNX", "lock", "1")
			s.give(50, 0, "1", "DEL", "lock")
			s.give(60, 1, "0", "DEL", "lock")
		}, []string{"exclusion: server-lost-key", "ownership: foreign-delete"}},
		{"a DEL of a promoted node's key, whose value was seen there", "set-nx-ex-get-del", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "token-zero", "EX", "1", "NX")
			s.nemesis(20, history.Op{Client: history.NoClient, F: history.FPromote, Node: "n1"})
			s.node = "n1"
			s.cmd(25, 1, quoted("token-zero"), "GET", "lock")
			s.cmd(30, 1, "1", "DEL", "lock")
			s.give(40, 0, "nil", "GET", "lock")
		}, []string{"ownership: foreign-delete"}},
		{"a DEL of a hash takes every owner's field", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", "HSET", "lock", "field-zero", "1")
			s.give(20, 1, "1", "DEL", "lock")
			s.give(30, 0, "0", "HDEL", "lock", "field-zero")
		}, []string{"ownership: foreign-delete"}},
		{"a watchdog of a failed attempt on independent nodes", "redlock-naive", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			s.node = "n3"
			s.cmd(100, 1, "1", "EXPIRE", "lock", "1")
			s.node = "n0"
			s.give(200, 0, "1", s.cad("t0")...)
		}, []string{"ownership: foreign-renewal"}},
	})
}

func TestOwnershipAccusesNobodyOfWhatIsRight(t *testing.T) {
	tales(t, []tale{
		{"releases that compare", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.busy(20, 1, "nil", setPX("t1")...)
			s.give(30, 0, "1", s.cad("t0")...)
			s.hold(40, 50, 1, "t2")
		}, nil},
		{"a bare DEL of one's own lock", "set-nx-ex", func(s *story) {
			for i := range 10 {
				s.take(float64(10+20*i), i%2, "OK", "SET", "lock", "1", "EX", "1", "NX")
				s.give(float64(20+20*i), i%2, "1", "DEL", "lock")
			}
		}, nil},
		{"a leftover of a failed vote that another cleans up", "redlock", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.onNodes(10, 0, otherHalf, "OK", setPX("t0")...)
			s.done(20, 0, history.Fail)
			s.at("n3")
			s.cmd(120, 1, "1", "DEL", "lock")
			s.at("n4")
			s.cmd(130, 1, "1", "EXPIRE", "lock", "1")
			s.cmd(140, 2, "OK", "SET", "lock", "t2")
		}, nil},
		{"an owner that prolongs its own", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			for i := range 5 {
				s.cmd(float64(343+333*i), 0, "1", "EXPIRE", "lock", "1")
			}
			s.give(1800, 0, "1", s.cad("t0")...)
		}, nil},
		{"a key that expired after its owner had begun to release", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(900, 0, history.FRelease)
			s.cmd(1100, 0, "0", s.cad("t0")...)
			s.done(1101, 0, history.Fail)
			s.hold(1200, 1300, 1, "t1")
		}, nil},
		{"a DEL after the owner's release was invoked", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.invoke(50, 0, history.FRelease)
			s.cmd(60, 1, "1", "DEL", "lock")
			s.cmd(70, 0, "0", "DEL", "lock")
			s.done(71, 0, history.Fail)
		}, nil},
		{"the key of a dead owner", "setnx-takeover-del", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", millisOf(1010))
			s.nemesis(50, history.Op{Client: 0, F: history.FCrash})
			s.invoke(1099, 1, history.FAcquire)
			s.cmd(1100, 1, "0", "SETNX", "lock", millisOf(2100))
			s.cmd(1101, 1, quoted(millisOf(1010)), "GET", "lock")
			s.cmd(1102, 1, "1", "DEL", "lock")
			s.cmd(1103, 1, "1", "SETNX", "lock", millisOf(2103))
			s.done(1104, 1, history.OK)
			s.give(1150, 1, "1", "DEL", "lock")
		}, nil},
		{"one reader's field of a hash", "rw-hash", func(s *story) {
			for c := range 3 {
				at := float64(10 + 10*c)
				s.invoke(at-1, c, history.FAcquire, history.Read)
				s.cmd(at, c, "1", s.script("hash-read", []string{"lock"}, millisOf(at), "3000", "10000")...)
				s.done(at+1, c, history.OK)
			}
			for c := range 3 {
				at := float64(50 + 10*c)
				s.invoke(at-1, c, history.FRelease, history.Read)
				s.cmd(at, c, "nil", s.script("hash-forget", []string{"lock"}, "read", millisOf(float64(10+10*c)))...)
				s.done(at+1, c, history.OK)
			}
		}, nil},
		{"an EXPIRE of a hash in which one has a field of one's own", "reentrant-hash", func(s *story) {
			s.e.Claims.ReadWrite = true // so that both clients may hold the lock
			for c := range 2 {
				s.invoke(float64(9+10*c), c, history.FAcquire, history.Read)
				s.cmd(float64(10+10*c), c, "1", "HSET", "lock", fmt.Sprint("field-", c), "1")
				s.done(float64(11+10*c), c, history.OK)
			}
			s.cmd(30, 0, "1", "EXPIRE", "lock", "1")
		}, nil},
		{"a script by its source, after NOSCRIPT", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(20, 0, history.FRelease)
			s.cmd(21, 0, "NOSCRIPT No matching script. Please use EVAL.", s.cad("t0")...)
			source := "\nif redis.call(\"GET\", KEYS[1]) == ARGV[1] then\n  return redis.call(\"DEL\", KEYS[1])\nend\nreturn 0"
			s.cmd(22, 0, "1", "EVAL", source, "1", "lock", "t0")
			s.done(23, 0, history.OK)
			s.hold(30, 40, 1, "t1")
		}, nil},
		{"reentry and its releases", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.take(20, 0, "1", s.enter("owner-zero")...)
			s.busy(25, 1, "0", s.enter("owner-one")...)
			s.give(30, 0, "0", s.leave("owner-zero")...)
			s.give(40, 0, "1", s.leave("owner-zero")...)
			s.holdHash(50, 60, 1, "owner-one")
		}, nil},
	})
}

// Ownership judges a command by what it changed in the key, whatever its name and its reply.
func TestOwnershipTellsByWhatTheKeyWas(t *testing.T) {
	const plain = "SET lock 1 EX 1 NX"
	hit := func(args ...string) func(*story) {
		return func(s *story) {
			s.take(10, 0, "OK", strings.Fields(plain)...)
			s.cmd(20, 1, "", args...)
			s.invoke(29, 0, history.FRelease)
			s.cmd(30, 0, "", "DEL", "lock")
			s.done(31, 0, history.OK)
		}
	}
	const deleted, renewed = "ownership: foreign-delete", "ownership: foreign-renewal"
	for command, want := range map[string]string{
		"EVAL return(redis.call('DEL',KEYS[1])) 1 lock":                 deleted,
		"EVAL return(redis.call('SET',KEYS[1],'x')) 1 lock":             deleted,
		"EVAL return(redis.call('SET',KEYS[1],'x','KEEPTTL')) 1 lock":   deleted,
		"EVAL return(redis.call('SET',KEYS[1],'2')) 1 lock":             "", // the script may have counted from 1 to 2
		"EVAL return(redis.call('PEXPIRE',KEYS[1],100)) 1 lock":         renewed,
		"EVAL return(redis.call('GET',KEYS[1])) 1 lock":                 "",
		"EVAL redis.call('SET',KEYS[1],'1','EX',1)return(nil) 1 lock x": renewed,
		"RENAME lock other":     deleted,
		"DEL lock other":        deleted,
		"UNLINK other lock":     deleted,
		"GETDEL lock":           deleted,
		"SET lock 2":            deleted,
		"SET lock 2 XX":         deleted,
		"SET lock 2 XX KEEPTTL": deleted,
		"SET lock 2 NX":         "",
		"SETRANGE lock 0 2":     deleted,
		"APPEND lock 2":         deleted,
		"INCR lock":             "",
		"DECR lock":             deleted,
		"PERSIST lock":          renewed,
		"PEXPIRE lock 5000":     renewed,
		"PEXPIRE lock 5000 LT":  "",
		"PEXPIRE lock 0":        deleted,
		"EXPIRE lock 100 NX":    "",
		"GET lock":              "",
		"FLUSHALL":              deleted,
		"SET lock:other 1":      "",
		"EVAL return(redis.call('DEL','lock')) 0":     deleted, // the command names no key
		"EVAL return(redis.call('DEL',KEYS[1])) 1 l0": "",
	} {
		t.Run(strings.ReplaceAll(command, " ", "_"), func(t *testing.T) {
			var want = []string{want}
			if want[0] == "" {
				want = nil
			}
			judgement(t, "set-nx-ex", hit(strings.Fields(command)...), want...)
		})
	}
}

func TestOwnershipIsUnknownWhereTheKeysDoNotTell(t *testing.T) {
	tales(t, []tale{
		{"nobody watched", "set-nx-ex", func(s *story) {
			s.unwatched = true
			s.holdEX(10, 30, 0)
		}, []string{"liveness: unknown", "ownership: unknown"}},
		{"nobody watched the node any more", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.nemesis(15, history.Op{Client: history.NoClient, F: history.FUnseen, Node: "n0", Error: "its password was changed"})
			s.give(30, 0, "1", "DEL", "lock")
		}, []string{"liveness: unknown", "ownership: unknown"}},
		{"nobody watched a node that nobody used", "set-nx-ex", func(s *story) {
			s.nemesis(5, history.Op{Client: history.NoClient, F: history.FUnseen, Node: "n7", Error: "it was not reached"})
			s.holdEX(10, 30, 0)
		}, nil},
		{"what was found before nobody watched", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.cmd(20, 1, "1", "DEL", "lock")
			s.nemesis(25, history.Op{Client: history.NoClient, F: history.FUnseen, Node: "n0", Error: "its password was changed"})
			s.give(30, 0, "0", "DEL", "lock")
		}, []string{"liveness: unknown", "ownership: foreign-delete"}},
		{"the key was gone, nobody saw by what", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.unexplained(20, "DEL", "lock")
			s.give(30, 0, "0", "DEL", "lock")
		}, []string{"ownership: unknown"}},
		{"the DEL overlaps the owner's release", "set-nx-ex", func(s *story) {
			s.blurred = true
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.invoke(50, 0, history.FRelease)
			s.late(45, 49.95, 1, "1", "DEL", "lock").Served = ms(50.05)
			s.cmd(60, 0, "0", "DEL", "lock")
			s.done(61, 0, history.Fail)
		}, []string{"ownership: unknown"}},
	})
}

// The reply to a later command, such as DEL, shows which keys a promoted or restarted node still
// had.
func TestOwnershipTellsOfKeysThatOutlivedTheirNode(t *testing.T) {
	plain := []string{"SET", "lock", "1", "EX", "1", "NX"}
	tales(t, []tale{
		{"a promoted node had the key", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", plain...)
			s.promote(20, "n1")
			s.cmd(30, 1, "1", "DEL", "lock")
			s.give(40, 0, "0", "DEL", "lock")
		}, []string{"ownership: foreign-delete"}},
		{"a promoted node did not have the key", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", plain...)
			s.promote(20, "n1")
			s.cmd(30, 1, "0", "DEL", "lock")
			s.give(40, 0, "0", "DEL", "lock")
		}, nil},
		{"a restarted node had the key", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", plain...)
			s.down(20)
			s.up(21, someWrites)
			s.cmd(30, 1, "1", "DEL", "lock")
			s.give(40, 0, "0", "DEL", "lock")
		}, []string{"ownership: foreign-delete"}},
		{"a restarted node had the key again, which was released", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", plain...)
			s.give(15, 0, "1", "DEL", "lock")
			s.down(20)
			s.up(21, someWrites)
			s.cmd(30, 1, "1", "DEL", "lock")
		}, nil},
	})
}

func TestOwnershipDoesNotApplyWithoutCommands(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.take(10, 0, "OK", setPX("t0")...)
	s.e.Commands = nil
	if v := ownership(t.Context(), NewCase(s.evidence())); v.Result != NotApplicable || v.words() == "" {
		t.Errorf("got %+v, want not applicable, and why", v)
	}
}

// A client whose acquire is refused may not prolong the key's TTL.
func TestARefusedShareIsNoReasonToProlong(t *testing.T) {
	const raise = `local n = redis.call("INCR", KEYS[1]) redis.call("PEXPIRE", KEYS[1], 1000) return n`
	tales(t, []tale{
		{"the holder's", "set-nx-px", func(s *story) {
			s.take(10, 0, "1", "EVAL", raise, "1", "lock")
			s.busy(300, 1, "2", "EVAL", raise, "1", "lock")
			s.give(500, 0, "1", "DEL", "lock")
		}, []string{"ownership: foreign-renewal"}},
		{"a dead holder's, for ever", "set-nx-px", func(s *story) {
			s.take(10, 0, "1", "EVAL", raise, "1", "lock")
			s.nemesis(20, crash(0))
			s.healed(30)
			for i := range 12 {
				s.busy(300+300*float64(i), 1, fmt.Sprint(i+2), "EVAL", raise, "1", "lock")
			}
			s.keys(3800)
		}, []string{"liveness: foreign-renewal", "liveness: foreign-renewal for ever"}},
	})
}
