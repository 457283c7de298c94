package keyspace

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestGrantsInCounts(t *testing.T) {
	tales(t, []tale{
		{"raised by others, and lowered by each", `
			10 c0+ INCR lock
			20 c1+ INCR lock
			30 c0- DECR lock
			40 c1- DECR lock`, `
			c0 n0:lock=1 @10 to ∞; deleted @30 by c0's DECR
			c1 n0:lock=2 @20 beside to ∞`},
		{"raised again from nothing", `
			10 c0+ INCR lock
			20 c0- DECR lock
			30 c1+ INCR lock`, `
			c0 n0:lock=1 @10 to ∞; deleted @20 by c0's DECR
			c1 n0:lock=1 @30 to ∞`},
		{"entered twice by its owner", `
			10 c0+ HINCRBY lock owner 1
			20 c0+ HINCRBY lock owner 1
			30 c0- HINCRBY lock owner -1
			40 c0- DEL lock`, `
			c0 n0:lock.owner=1 @10 to ∞; under c0's of @20; deleted @40 by c0's DEL
			c0 n0:lock.owner=2 @20 to ∞; deleted @40 by c0's DEL`},
		{"lowered by who has no share", `
			10 c0+ INCR lock
			20 c1+ INCR lock
			30 c2- DECR lock`, `
			c0 n0:lock=1 @10 to ∞
			c1 n0:lock=2 @20 beside to ∞; deleted @30 by c2's DECR
			c2's DECR @30 replaced c1's of @20`},
		{"set by who was handed the number", `
			10 c0+ SET lock 1
			20 c1+ SET lock 2`, `
			c0 n0:lock=1 @10 to ∞; under c1's of @20
			c1 n0:lock=2 @20 to ∞
			c1's SET @20 replaced c0's of @10`},
		{"counted by a script", `
			10 c0+ EVAL return(redis.call('INCR',KEYS[1])) 1 lock
			20 c1+ EVAL return(redis.call('INCR',KEYS[1])) 1 lock`, `
			c0 n0:lock=1 @10 to ∞
			c1 n0:lock=2 @20 beside to ∞`},
		{"a script that puts a time in a time's place", `
			10 c0+ SET lock 1700000000010
			20 c1+ EVAL return(redis.call('SET',KEYS[1],ARGV[1])) 1 lock 1700000000020`, `
			c0 n0:lock=1700000000010 @10 to ∞; under c1's of @20
			c1 n0:lock=1700000000020 @20 to ∞
			c1's EVAL @20 replaced c0's of @10`},
		{"a script that puts the worker's number, whoever has the lock", `
			10 c0+ EVAL return(redis.call('SET',KEYS[1],ARGV[1])) 1 lock 1
			20 c1+ EVAL return(redis.call('SET',KEYS[1],ARGV[1])) 1 lock 2
			30 c0+ EVAL return(redis.call('SET',KEYS[1],ARGV[1])) 1 lock 1`, `
			c0 n0:lock=1 @10 to ∞; under c1's of @20
			c1 n0:lock=2 @20 to ∞; under c0's of @30
			c0 n0:lock=1 @30 to ∞
			c1's EVAL @20 replaced c0's of @10
			c0's EVAL @30 replaced c1's of @20`},
		{"a script that puts its fence into the lock's key, whoever has it", `
			10 c0+ EVAL return(redis.call('SET',KEYS[1],redis.call('INCR',KEYS[2]),'PX',1000)) 2 lock n
			20 c1+ EVAL return(redis.call('SET',KEYS[1],redis.call('INCR',KEYS[2]),'PX',1000)) 2 lock n`, `
			c0 n0:lock=1 @10 to 1010, 1020; under c1's of @20
			c0 n0:n=1 @10 to ∞
			c1 n0:lock=2 @20 to 1020
			c1 n0:n=2 @20 beside to ∞
			c1's EVAL @20 timed c0's of @10
			c1's EVAL @20 replaced c0's of @10`},
		{"a script that puts the next second of the year 2000", `
			10 c0+ SET lock 946684800
			20 c1+ EVAL return(redis.call('SET',KEYS[1],ARGV[1])) 1 lock 946684801`, `
			c0 n0:lock=946684800 @10 to ∞; under c1's of @20
			c1 n0:lock=946684801 @20 to ∞
			c1's EVAL @20 replaced c0's of @10`},
	})
}

// The count is the number of a semaphore's free permits: each acquire decrements it.
func TestGrantsInCountsThatGoDown(t *testing.T) {
	tales(t, []tale{
		{"set up by a stranger, taken and given back", `
			5 stranger SET lock 2
			10 c0+ DECR lock
			20 c1+ DECR lock
			30 c0- INCR lock
			40 c1- INCR lock`, `
			someone n0:lock=2 @5 to ∞; under c0's of @10
			c0 n0:lock=1 @10 to ∞; deleted @30 by c0's INCR
			c1 n0:lock=0 @20 beside to ∞; deleted @40 by c1's INCR`},
		{"refused, and put back what it had taken", `
			5 stranger SET lock 1
			10 c0+ DECR lock
			20 c1? DECR lock
			21 c1& INCR lock
			30 c0- INCR lock`, `
			someone n0:lock=1 @5 to ∞; under c0's of @10
			c0 n0:lock=0 @10 to ∞; deleted @30 by c0's INCR
			c1 n0:lock=-1 @20 beside refused to ∞; deleted @21 by c1's INCR`},
		{"raised by who has no share", `
			5 stranger SET lock 2
			10 c0+ DECR lock
			20 c1- INCR lock`, `
			someone n0:lock=2 @5 to ∞; under c0's of @10
			c0 n0:lock=1 @10 to ∞; deleted @20 by c1's INCR
			c1's INCR @20 replaced c0's of @10`},
		{"set up by who takes the first", `
			10 c0+ SETNX lock 2
			11 c0& DECR lock
			20 c1+ DECR lock
			30 c0- INCR lock`, `
			c0 n0:lock=2 @10 to ∞; under c0's of @11
			c0 n0:lock=1 @11 to ∞; deleted @30 by c0's INCR
			c1 n0:lock=0 @20 beside to ∞`},
		{"set up by a script that takes the first, which is back before another takes one", `
			10 c0+ EVAL redis.call('SETNX',KEYS[1],2)return(redis.call('DECR',KEYS[1])) 1 lock
			20 c0- INCR lock
			30 c1+ EVAL redis.call('SETNX',KEYS[1],2)return(redis.call('DECR',KEYS[1])) 1 lock`, `
			c0 n0:lock=1 @10 to ∞; deleted @20 by c0's INCR
			c1 n0:lock=1 @30 to ∞`},
		{"taken below zero, which nobody put back", `
			5 stranger SET lock 1
			10 c0+ DECR lock
			20 c1? DECR lock
			30 c0- INCR lock`, `
			someone n0:lock=1 @5 to ∞; under c0's of @10
			c0 n0:lock=0 @10 to ∞; deleted @30 by c0's INCR
			c1 n0:lock=-1 @20 beside refused to ∞`},
	})
}

// These counts go up, although an acquire lowers the count or the count is below zero.
func TestGrantsInCountsBelowZero(t *testing.T) {
	tales(t, []tale{
		{"raised to zero by an acquire", `
			10 c0- HINCRBY lock owner -1
			20 c1+ HINCRBY lock owner 1`, `
			c0 n0:lock.owner=-1 @10 to ∞
			c1 n0:lock.owner=0 @20 beside to ∞`},
		{"refused, and lowered again", `
			10 c0+ INCR lock
			20 c1? INCR lock
			21 c1& DECR lock
			30 c0- DECR lock`, `
			c0 n0:lock=1 @10 to ∞
			c1 n0:lock=2 @20 beside refused to ∞; deleted @21 by c1's DECR`},
		{"lowered by another's acquire, which no release puts back", `
			10 c0+ EVAL return(redis.call('INCR',KEYS[1])) 1 lock
			20 c1? EVAL return(redis.call('DECR',KEYS[1])) 1 lock`, `
			c0 n0:lock=1 @10 to ∞; deleted @20 by c1's EVAL
			c1's EVAL @20 replaced c0's of @10`},
		{"raised by a script that undoes it, before anybody else counts", `
			10 c0? EVAL return(redis.call('INCR',KEYS[1])) 1 lock
			11 c0& EVAL return(redis.call('DECR',KEYS[1])) 1 lock
			20 c1+ EVAL return(redis.call('INCR',KEYS[1])) 1 lock`, `
			c0 n0:lock=1 @10 to ∞; deleted @11 by c0's EVAL
			c1 n0:lock=1 @20 to ∞`},
	})
}

// A refused client holds nothing, although it incremented the count. Its refused share is
// separate from its granted shares.
func TestRefusedSharesInCounts(t *testing.T) {
	tales(t, []tale{
		{"left by the holder himself", `
			10 c0+ INCR lock
			20 c0? INCR lock
			30 c0- DECR lock`, `
			c0 n0:lock=1 @10 to ∞; deleted @30 by c0's DECR
			c0 n0:lock=2 @20 beside refused to ∞`},
		{"put back by the holder himself", `
			10 c0+ INCR lock
			20 c0? INCR lock
			21 c0& DECR lock`, `
			c0 n0:lock=1 @10 to ∞
			c0 n0:lock=2 @20 beside refused to ∞; deleted @21 by c0's DECR`},
		{"left, and lowered by another before what is held", `
			10 c0+ INCR lock
			20 c1? INCR lock
			30 c0? INCR lock
			40 c2- DECR lock
			50 c2- DECR lock
			60 c2- DECR lock`, `
			c0 n0:lock=1 @10 to ∞; deleted @60 by c2's DECR
			c1 n0:lock=2 @20 beside refused to ∞; deleted @50 by c2's DECR
			c0 n0:lock=3 @30 beside refused to ∞; deleted @40 by c2's DECR
			c2's DECR @40 replaced c0's of @30
			c2's DECR @50 replaced c1's of @20
			c2's DECR @60 replaced c0's of @10`},
		{"left, and then let in", `
			10 c0+ INCR lock
			20 c1? INCR lock
			30 c0- DECR lock
			40 c1+ INCR lock
			50 c1- DECR lock`, `
			c0 n0:lock=1 @10 to ∞; deleted @30 by c0's DECR
			c1 n0:lock=2 @20 beside refused to ∞
			c1 n0:lock=2 @40 beside to ∞; deleted @50 by c1's DECR`},
	})
}

// The key belongs to the holder, even if another client was refused later.
func TestAKeyIsNotOfWhoWasRefused(t *testing.T) {
	k := Read(enact(t, "10 c0+ INCR lock\n20 c1? INCR lock\n30 c2 EXPIRE lock 1"))
	for _, s := range k.Steps {
		if s.Heir == nil || s.Heir.Client != 0 {
			t.Errorf("at %v the key is %+v's, want c0's", s.At, s.Heir)
		}
	}
}

func TestWhoTakesAShare(t *testing.T) {
	const acquire, release = 0, 1
	up, down := KeyPlace{Key: "up"}, KeyPlace{Key: "down"}
	pairing, _ := history.Paired([]history.Op{
		{Index: acquire, Type: history.Invoke, F: history.FAcquire}, {Index: release, Process: 1, Type: history.Invoke, F: history.FRelease},
	})
	r := &reader{Keys: &Keys{pairing: pairing}, down: map[KeyPlace]bool{down: true}}
	for _, c := range []struct {
		name     string
		at       KeyPlace
		step, is int64
		op       int
		want     bool
	}{
		{"who raises", up, 1, 2, acquire, true},
		{"who lowers gives back", up, -1, 1, acquire, false},
		{"an acquire below zero", up, 1, 0, acquire, true},
		{"a release below zero does not", up, 1, 0, release, false},
		{"who lowers what goes down", down, -1, 1, acquire, true},
		{"who lowers it below zero", down, -1, -1, acquire, true},
		{"who raises what goes down gives back", down, 1, 2, release, false},
		{"an acquire does too", down, 1, 0, acquire, false},
	} {
		if got := r.takes(c.at, c.step, c.is, actor{op: c.op}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
