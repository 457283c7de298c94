package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// asks adds an attempt with several commands, a millisecond apart. Each command is given as its
// reply and its arguments, such as "OK", "SET", "lock", "t0".
func (s *story) asks(at float64, client int, how history.Type, commands ...[]string) {
	s.invoke(at-1, client, history.FAcquire)
	for i, c := range commands {
		s.cmd(at+float64(i), client, c[0], c[1:]...)
	}
	s.done(at+float64(len(commands)), client, how)
}

// noting returns the tale of a lock whose every attempt first sends a command to another key. note
// returns this command for a client: its reply, then its arguments.
func noting(note func(client int) []string) func(*story) {
	set := func(reply, token string) []string { return append([]string{reply}, setPX(token)...) }
	return func(s *story) {
		s.asks(10, 0, history.OK, note(0), set("OK", "t0"))
		s.asks(20, 1, history.Fail, note(1), set("nil", "t1"))
		s.asks(30, 2, history.Fail, note(2), set("nil", "t2"))
		s.give(40, 0, "1", s.cad("t0")...)
		s.asks(50, 1, history.OK, note(1), set("OK", "t1"))
		s.give(60, 1, "1", s.cad("t1")...)
	}
}

func TestARecordBesideTheLockIsNobodysGrant(t *testing.T) {
	name := []string{"c0", "c1", "c2"}
	tales(t, []tale{
		{"who asked last", "set-nx-px", noting(func(c int) []string { return []string{"OK", "SET", "last", name[c]} }), nil},
		{"who asked last, in a hash", "set-nx-px", func(s *story) {
			enter := func(how history.Type, at float64, c int, replies ...string) {
				s.asks(at, c, how, []string{replies[0], "HSET", "lock", "asked", name[c]}, []string{replies[1], "HSETNX", "lock", "owner", name[c]})
			}
			enter(history.OK, 10, 0, "1", "1")
			enter(history.Fail, 20, 1, "0", "0")
			s.give(30, 0, "1", "HDEL", "lock", "owner")
			enter(history.OK, 40, 1, "0", "1")
			s.give(50, 1, "1", "HDEL", "lock", "owner")
		}, nil},
		{"who asked last, of a lock that outlives its lease", "set-nx-px", func(s *story) {
			s.asks(10, 0, history.OK, append([]string{"OK"}, setPX("t0")...), []string{"OK", "SET", "last", "c0"})
			s.asks(20, 1, history.Fail, append([]string{"nil"}, setPX("t1")...), []string{"OK", "SET", "last", "c1"})
			s.asks(1100, 1, history.OK, append([]string{"OK"}, setPX("t1")...), []string{"OK", "SET", "last", "c1"})
			s.give(1200, 0, "0", s.cad("t0")...)
			s.give(1250, 1, "1", s.cad("t1")...)
		}, []string{"exclusion: lease-outlived"}},
		{"a record that has no life, beside a lock that has one", "set-nx-px", func(s *story) {
			s.asks(10, 0, history.OK, []string{"OK", "SET", "last", "c0"}, append([]string{"OK"}, setPX("t0")...))
			s.nemesis(15, crash(0))
			s.healed(18)
			for at := 20.0; at < 900; at += 50 {
				s.asks(at, 1, history.Fail, []string{"OK", "SET", "last", "c1"}, append([]string{"nil"}, setPX("t1")...))
			}
			s.asks(1100, 1, history.OK, []string{"OK", "SET", "last", "c1"}, append([]string{"OK"}, setPX("t1")...))
			s.give(1150, 1, "1", s.cad("t1")...)
			s.keys(1200)
		}, []string{"liveness: orphaned-key"}},
	})
}

func TestTheLocksOwnKeyIsNoRecord(t *testing.T) {
	tales(t, []tale{
		{"a refused asker that wrote over it, with a fence beside", "set-nx-px", func(s *story) {
			s.asks(10, 0, history.OK, []string{"OK", "SET", "lock", "t0", "PX", "1000"}, []string{"1", "INCR", "fence"})
			s.asks(20, 1, history.Fail, []string{"2", "INCR", "fence"}, []string{"OK", "SET", "lock", "t1", "XX", "PX", "1000"})
			s.give(30, 0, "0", s.cad("t0")...)
		}, []string{"ownership: race"}},
		{"the same, whose fence somebody sets back before its owner crashes", "set-nx-px", func(s *story) {
			s.asks(10, 0, history.OK, []string{"OK", "SET", "lock", "t0", "PX", "1000"}, []string{"1", "INCR", "fence"})
			s.asks(20, 1, history.Fail, []string{"2", "INCR", "fence"}, []string{"OK", "SET", "lock", "t1", "XX", "PX", "1000"})
			s.cmd(25, 2, "OK", "SET", "fence", "0")
			s.nemesis(40, crash(0))
		}, []string{"ownership: foreign-delete", "ownership: race"}},
		{"a refused asker that wrote over it, with a record of who was granted it last", "set-nx-px", func(s *story) {
			for i, token := range []string{"t0", "t1"} {
				at := 10 + 20*float64(i)
				s.asks(at, i, history.OK, append([]string{"OK"}, setPX(token)...), []string{"OK", "SET", "granted", token})
				s.give(at+10, i, "1", s.cad(token)...)
			}
			s.asks(50, 0, history.OK, append([]string{"OK"}, setPX("t2")...), []string{"OK", "SET", "granted", "t2"})
			s.asks(60, 1, history.Fail, []string{quoted("t2"), "GET", "granted"}, []string{"OK", "SET", "lock", "t3", "XX", "PX", "1000"})
			s.give(70, 0, "0", s.cad("t2")...)
		}, []string{"ownership: race"}},
		{"one of a quorum of keys", "set-nx-px", func(s *story) {
			s.e.Claims.Quorum, s.e.Claims.QuorumOf = 2, history.QuorumOfKeys
			s.asks(10, 0, history.OK, []string{"OK", "SET", "k1", "t0", "NX"}, []string{"OK", "SET", "k2", "t0", "NX"}, []string{"OK", "SET", "k3", "t0", "NX"})
			s.asks(20, 1, history.Fail, []string{"OK", "SET", "k1", "t1"}, []string{"nil", "SET", "k2", "t1", "NX"})
			s.give(30, 0, "3", "DEL", "k1", "k2", "k3")
		}, []string{"ownership: race"}},
	})
}

// named adds an acquire that sets the lock's key and then, at the time later, writes the client's
// name to the key "owner".
func (s *story) named(at, later float64, client int, token, name string) {
	s.invoke(at-1, client, history.FAcquire)
	s.cmd(at, client, "OK", setPX(token)...)
	s.cmd(later, client, "OK", "SET", "owner", name)
	s.done(later+1, client, history.OK)
}

// handsOn adds holds of c0 and c1. Each owner writes its name to the key "owner". c0 has released
// the lock, and c1 still holds it.
func handsOn(s *story) {
	s.named(10, 11, 0, "t0", "c0")
	s.give(20, 0, "1", s.cad("t0")...)
	s.named(30, 31, 1, "t1", "c1")
}

// A key with the last owner's name is nobody's grant, since the lock does not depend on that key. If
// the release reads the name, the lock does depend on the key, and to overwrite the name is a violation.
func TestTheLastOwnersNameIsNobodysGrant(t *testing.T) {
	tales(t, []tale{
		{"the lock was lost in a failover", "set-nx-px", func(s *story) {
			handsOn(s)
			s.evict(35, "lock")
			s.named(40, 41, 2, "t2", "c2")
			s.give(50, 2, "1", s.cad("t2")...)
			s.give(60, 1, "0", s.cad("t1")...)
		}, []string{"exclusion: server-lost-key"}},
		{"who wrote its name too late", "set-nx-px", func(s *story) {
			handsOn(s)
			s.give(35, 1, "1", s.cad("t1")...)
			s.invoke(39, 0, history.FAcquire)
			s.cmd(40, 0, "OK", setPX("t2")...)
			s.named(1100, 1101, 2, "t3", "c2")
			s.cmd(1110, 0, "OK", "SET", "owner", "c0")
			s.done(1111, 0, history.OK)
			s.give(1120, 0, "0", s.cad("t2")...)
			s.give(1130, 2, "1", s.cad("t3")...)
		}, []string{"exclusion: lease-outlived"}},
		{"the name of a dead owner stays for ever", "set-nx-px", func(s *story) {
			handsOn(s)
			s.nemesis(35, crash(1))
			s.healed(36)
			s.busy(100, 0, "nil", setPX("t2")...)
			s.busy(900, 0, "nil", setPX("t2")...)
			s.keys(2000)
		}, []string{"liveness: orphaned-key"}},
		{"a name by which the release goes", "set-nx-px", func(s *story) {
			handsOn(s)
			s.give(35, 1, "1", s.cad("t1")...)
			s.invoke(39, 0, history.FAcquire)
			s.cmd(40, 0, "OK", setPX("t2")...)
			s.named(1100, 1101, 2, "t3", "c2")
			s.cmd(1110, 0, "OK", "SET", "owner", "c0")
			s.done(1111, 0, history.OK)
			s.invoke(1119, 2, history.FRelease)
			s.cmd(1120, 2, quoted("c0"), "GET", "owner")
			s.done(1121, 2, history.Fail)
		}, []string{"exclusion: lease-outlived", "ownership: race"}},
		{"the key that everybody takes over, beside a key of each client's own", "set-nx-px", func(s *story) {
			for i, token := range []string{"t0", "t1", "t2"} {
				at := 10 + 20*float64(i)
				s.asks(at, i, history.OK, []string{"OK", "SET", "mine:" + token, "1"}, []string{"OK", "SET", "lock", token})
				if i != 1 {
					s.give(at+10, i, "1", "DEL", "mine:"+token)
				}
			}
		}, []string{"exclusion: race", "ownership: race"}},
	})
}
