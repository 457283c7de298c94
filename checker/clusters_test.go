package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// migrate moves all keys from n0 to n1. Later commands run on n1.
func (s *story) migrate(at float64) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FMigrate, From: "n0", Node: "n1"})
	s.node = "n1"
}

func TestAKeyThatMovesWithItsSlotIsTheSameGrant(t *testing.T) {
	const moved = "MOVED 1955 127.0.0.1:7001"
	tales(t, []tale{
		{"released by its owner at the new node", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.migrate(50)
			s.busy(60, 1, "nil", setPX("t1")...)
			s.give(100, 0, "1", s.cad("t0")...)
			s.hold(110, 120, 1, "t1")
		}, nil},
		{"asked for at the old node first", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.migrate(50)
			s.at("n0")
			s.invoke(99, 0, history.FRelease)
			s.cmd(100, 0, moved, "DEL", "lock")
			s.at("n1")
			s.cmd(101, 0, "1", "DEL", "lock")
			s.done(102, 0, history.OK)
			s.take(110, 1, "1", "SETNX", "lock", "1")
			s.give(120, 1, "1", "DEL", "lock")
		}, nil},
		{"removed by another at the new node", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.migrate(50)
			s.give(60, 1, "1", "DEL", "lock")
			s.holdEX(70, 90, 1)
			s.give(100, 0, "0", "DEL", "lock")
		}, []string{"exclusion: foreign-delete", "ownership: foreign-delete"}},
		{"expired at the new node", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.migrate(50)
			s.hold(1100, 1200, 1, "t1")
			s.give(1300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"granted again beside the old one", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(50, history.Op{Client: history.NoClient, F: history.FPromote, From: "n0", Node: "n3"})
			s.at("n3")
			s.hold(100, 200, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-lost-key"}},
	})
}

func TestTwoShardsMayBePartedAtOnce(t *testing.T) {
	split := func(s *story, at float64, client int, from, node string) {
		s.nemesis(at, history.Op{Client: client, F: history.FSplit, From: from, Node: node})
	}
	promote := func(s *story, at float64, from, node string) {
		s.nemesis(at, history.Op{Client: history.NoClient, F: history.FPromote, From: from, Node: node})
	}
	// both makes n1 grant the lock to c0, and n4 grant it to c1. Both nodes serve the lock's shard.
	both := func(s *story) {
		s.at("n1")
		s.take(60, 0, "OK", setPX("t0")...)
		s.at("n4")
		s.hold(100, 200, 1, "t1")
		s.at("n1")
		s.give(300, 0, "1", s.cad("t0")...)
	}
	tales(t, []tale{
		{"the second as well as the first", "set-nx-px", func(s *story) {
			split(s, 50, 1, "n0", "n3")
			split(s, 51, 1, "n1", "n4")
			both(s)
			promote(s, 400, "n1", "n4")
			promote(s, 401, "n0", "n3")
		}, []string{"exclusion: server-lost-key"}},
		{"though the other shard is one again", "set-nx-px", func(s *story) {
			split(s, 50, 1, "n1", "n4")
			split(s, 51, 1, "n0", "n3")
			promote(s, 55, "n0", "n3")
			both(s)
			promote(s, 400, "n1", "n4")
		}, []string{"exclusion: server-lost-key"}},
		{"what only the old master had is lost, and nothing of another shard", "set-nx-px", func(s *story) {
			split(s, 50, 1, "n0", "n3")
			split(s, 51, 1, "n1", "n4")
			s.at("n1")
			s.take(60, 0, "OK", setPX("t0")...)
			promote(s, 100, "n0", "n3")
			s.busy(150, 2, "nil", setPX("t2")...)
			promote(s, 200, "n1", "n4")
			s.at("n4")
			s.hold(250, 300, 1, "t1")
			s.give(400, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: server-lost-key"}},
	})
}

// refused adds 30 attempts of c0. The node answers the command of each attempt with this reply.
func refused(s *story, reply string) {
	s.healed(5)
	read := s.script("two-keys-read", []string{"lock:read", "lock:write"}, "1")
	for at := 10.0; at < 3000; at += 100 {
		s.invoke(at, 0, history.FAcquire, history.Read)
		s.cmd(at+1, 0, reply, read...)
		s.done(at+50, 0, history.Info)
	}
	s.keys(3100)
}

func TestWhatAClusterRefusesForItsSlotsKeepsEverybodyOutForEver(t *testing.T) {
	tales(t, []tale{
		{"keys in different slots", "rw-two-keys", func(s *story) {
			refused(s, "CROSSSLOT Keys in request don't hash to the same slot")
		}, []string{"liveness: cross-slot for ever"}},
		{"a cluster that is down", "rw-two-keys", func(s *story) {
			refused(s, "CLUSTERDOWN The cluster is down")
		}, []string{"liveness: unknown"}},
	})
}
