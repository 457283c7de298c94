package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestCausesInReadWriteLocks(t *testing.T) {
	two := func(s *story, at float64, client int, mode history.Mode) {
		s.invoke(at-1, client, history.FAcquire, mode)
		if mode == history.Read {
			s.cmd(at, client, "1", s.script("two-keys-read", []string{"lock:read", "lock:write"}, "1")...)
		} else {
			s.cmd(at, client, "1", s.script("two-keys-write", []string{"lock:read", "lock:write"}, "1")...)
		}
		s.done(at+1, client, history.OK)
	}
	leaveTwo := func(s *story, at float64, client int, mode history.Mode, reply string) {
		s.invoke(at-1, client, history.FRelease, mode)
		s.cmd(at, client, reply, "DEL", "lock:"+string(mode))
		s.done(at+1, client, history.OK)
	}
	hash := func(s *story, at float64, client int, mode history.Mode) {
		s.invoke(at-1, client, history.FAcquire, mode)
		if mode == history.Read {
			s.cmd(at, client, "1", s.script("hash-read", []string{"lock"}, millisOf(at), "3000", "10000")...)
		} else {
			s.cmd(at, client, "1", s.script("hash-write", []string{"lock"}, millisOf(at), "3000", "10000", "1000")...)
		}
		s.done(at+1, client, history.OK)
	}
	leaveHash := func(s *story, at float64, client int, mode history.Mode, since float64) {
		s.invoke(at-1, client, history.FRelease, mode)
		s.cmd(at, client, "nil", s.script("hash-forget", []string{"lock"}, string(mode), millisOf(since))...)
		s.done(at+1, client, history.OK)
	}
	tales(t, []tale{
		{"the first reader to leave takes the others' key along", "rw-two-keys", func(s *story) {
			two(s, 10, 0, history.Read)
			two(s, 20, 1, history.Read)
			leaveTwo(s, 30, 0, history.Read, "1")
			two(s, 40, 2, history.Write)
			leaveTwo(s, 50, 2, history.Write, "1")
			leaveTwo(s, 60, 1, history.Read, "0")
		}, []string{"exclusion: foreign-delete", "ownership: foreign-delete"}},
		{"the last reader to come takes along what it had overwritten", "rw-two-keys", func(s *story) {
			two(s, 10, 0, history.Read)
			two(s, 20, 1, history.Read)
			leaveTwo(s, 30, 1, history.Read, "1")
			two(s, 40, 2, history.Write)
			leaveTwo(s, 50, 2, history.Write, "1")
			leaveTwo(s, 60, 0, history.Read, "0")
		}, []string{"exclusion: race", "ownership: foreign-delete"}},
		{"a writer's script drops a reader whose time is over", "rw-two-keys", func(s *story) {
			s.invoke(9, 0, history.FAcquire, history.Read)
			s.cmd(10, 0, "1", "EVAL", "redis.call('hset', KEYS[2], ARGV[1], 1) return redis.call('pexpire', KEYS[2], 3000)", "2", "lock:a", "lock:b", "r0")
			s.done(11, 0, history.OK)
			s.invoke(1099, 1, history.FAcquire, history.Write)
			s.cmd(1100, 1, "1", "EVAL", "redis.call('del', KEYS[2]) redis.call('set', KEYS[1], ARGV[1], 'PX', 1000) return 1", "2", "lock:a", "lock:b", "w1")
			s.done(1101, 1, history.OK)
			s.give(1200, 1, "1", "DEL", "lock:a")
			s.give(1300, 0, "0", "HDEL", "lock:b", "r0")
		}, []string{"exclusion: lease-outlived"}},
		{"a writer's script drops a reader whose time is not over", "rw-two-keys", func(s *story) {
			s.invoke(9, 0, history.FAcquire, history.Read)
			s.cmd(10, 0, "1", "EVAL", "redis.call('hset', KEYS[2], ARGV[1], 1) return redis.call('pexpire', KEYS[2], 3000)", "2", "lock:a", "lock:b", "r0")
			s.done(11, 0, history.OK)
			s.invoke(799, 1, history.FAcquire, history.Write)
			s.cmd(800, 1, "1", "EVAL", "redis.call('del', KEYS[2]) redis.call('set', KEYS[1], ARGV[1], 'PX', 1000) return 1", "2", "lock:a", "lock:b", "w1")
			s.done(801, 1, history.OK)
			s.give(900, 1, "1", "DEL", "lock:a")
			s.give(1300, 0, "0", "HDEL", "lock:b", "r0")
		}, []string{"exclusion: race", "ownership: foreign-delete"}},
		{"a restart loses the writer's key, and a reader's script finds none", "rw-two-keys", func(s *story) {
			two(s, 10, 0, history.Write)
			s.down(20)
			s.up(30, allKeys)
			two(s, 40, 1, history.Read)
			leaveTwo(s, 50, 1, history.Read, "1")
			leaveTwo(s, 60, 0, history.Write, "0")
		}, []string{"exclusion: server-lost-key"}},
		{"a writer outlives its key", "rw-two-keys", func(s *story) {
			two(s, 10, 0, history.Write)
			two(s, 1100, 1, history.Read)
			leaveTwo(s, 1150, 1, history.Read, "1")
			leaveTwo(s, 1200, 0, history.Write, "0")
		}, []string{"exclusion: lease-outlived"}},
		{"the second reader overwrites the only record of the first", "rw-hash", func(s *story) {
			hash(s, 10, 0, history.Read)
			hash(s, 20, 1, history.Read)
			leaveHash(s, 30, 1, history.Read, 20)
			hash(s, 40, 2, history.Write)
			leaveHash(s, 50, 2, history.Write, 40)
			leaveHash(s, 60, 0, history.Read, 10)
		}, []string{"exclusion: race"}},
		{"readers that forget each other are no matter of clocks", "rw-hash", func(s *story) {
			s.nemesis(1, skew(1, 1, 20))
			hash(s, 10, 0, history.Read)
			hash(s, 40, 1, history.Read)
			leaveHash(s, 50, 1, history.Read, 40)
			hash(s, 60, 2, history.Write)
			leaveHash(s, 70, 2, history.Write, 60)
			leaveHash(s, 80, 0, history.Read, 10)
		}, []string{"exclusion: race"}},
		{"the first reader's release leaves the second's record alone", "rw-hash", func(s *story) {
			hash(s, 10, 0, history.Read)
			hash(s, 20, 1, history.Read)
			leaveHash(s, 30, 0, history.Read, 10)
			leaveHash(s, 40, 1, history.Read, 20)
			hash(s, 50, 2, history.Write)
			leaveHash(s, 60, 2, history.Write, 50)
		}, nil},
		{"equal milliseconds are equal owners", "rw-hash", func(s *story) {
			for c := range 2 {
				s.invoke(9, c, history.FAcquire, history.Read)
			}
			for c := range 2 {
				s.cmd(10+0.5*float64(c), c, "1", s.script("hash-read", []string{"lock"}, millisOf(10), "3000", "10000")...)
				s.done(11+0.5*float64(c), c, history.OK)
			}
			leaveHash(s, 30, 0, history.Read, 10)
			hash(s, 40, 2, history.Write)
			leaveHash(s, 50, 2, history.Write, 40)
			leaveHash(s, 60, 1, history.Read, 10)
		}, []string{"exclusion: foreign-delete", "ownership: foreign-delete"}},
		{"a writer whose clock is ahead finds a reader's time old", "rw-hash", func(s *story) {
			s.nemesis(1, skew(1, 2, 60000))
			hash(s, 10, 0, history.Read)
			s.invoke(99, 2, history.FAcquire, history.Write)
			s.cmd(100, 2, "1", s.script("hash-write", []string{"lock"}, millisOf(60100), "3000", "10000", "1000")...)
			s.done(101, 2, history.OK)
			leaveHash(s, 150, 2, history.Write, 60100)
			leaveHash(s, 160, 0, history.Read, 10)
		}, []string{"exclusion: client-clock"}},
		{"a writer finds the time of a reader that overran", "rw-hash", func(s *story) {
			hash(s, 10, 0, history.Read)
			hash(s, 1100, 2, history.Write)
			leaveHash(s, 1150, 2, history.Write, 1100)
			leaveHash(s, 1160, 0, history.Read, 10)
		}, []string{"exclusion: lease-outlived"}},
	})
}
